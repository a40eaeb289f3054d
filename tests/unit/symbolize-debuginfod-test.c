/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files from a debuginfod server: Debian's own, on a loopback port, over a folder that is made
 * here. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>

#include "symbolize/symbolize.h"
#include "tests/unit/made-files.h"

#define ID_HEX "d1d2d3d4d5d6d7d8d9d0d1d2d3d4d5d6d7d8d9d0"

static const u8 id[20] = {
	0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xd0,
	0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7, 0xd8, 0xd9, 0xd0,
};

static struct strtab strings;
static struct diag diag;

/* A port of the loopback interface that is free now; with `fd` it is listened at, and never
 * answered. */
static int free_port(int *fd)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (s < 0 || bind(s, (struct sockaddr *)&a, n) || getsockname(s, (struct sockaddr *)&a, &n))
		return -1;
	if (fd && !listen(s, 8))
		*fd = s;
	else
		close(s);
	return ntohs(a.sin_port);
}

/* Whether the server has the file already: it scans its folder first. */
static bool served(int port, const char *path)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				 .sin_port = htons((u16)port) };
	int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[512];
	ssize_t n = 0;

	if (s < 0)
		return false;
	if (!connect(s, (struct sockaddr *)&a, sizeof(a))) {
		int k = snprintf(text, sizeof(text), "GET %s HTTP/1.0\r\n\r\n", path);

		if (write(s, text, (size_t)k) == k)
			n = read(s, text, sizeof(text) - 1);
	}
	close(s);
	text[n > 0 ? n : 0] = '\0';
	return strstr(text, " 200 ") != NULL;
}

static void wait_for(int port, const char *path)
{
	int tries;

	for (tries = 0; tries < 300 && !served(port, path); tries++)
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
}

static pid_t start_server(int port)
{
	char p[16], dir[128];
	pid_t pid;
	int fd;

	snprintf(p, sizeof(p), "%d", port);
	snprintf(dir, sizeof(dir), "%s/served", made_dir);
	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	unsetenv("DEBUGINFOD_URLS");
	execlp("debuginfod", "debuginfod", "-p", p, "-d", ":memory:", "-t", "0", "-c", "1", "-F",
	       dir, (char *)NULL);
	_exit(127);
}

static struct symbolizer *symbolizer(bool debuginfod)
{
	struct sym_opts opts = { .debuginfod = debuginfod };

	return sym_new(&opts, &strings, &diag);
}

static const char *name(struct symbolizer *s, u32 pid, const u8 *build_id)
{
	struct sym_mapping m = {
		.pid = pid,
		.space = SPACE_USER,
		.addr = 0x7f0000001000,
		.len = 0x1000,
		.pgoff = 0x1000,
		.filename = "/no/such/prog",
		.build_id = build_id,
		.build_id_len = 20,
	};
	const struct frame *f;
	size_t n;

	sym_map(s, &m);
	n = sym_resolve(s, SPACE_USER, pid, 0x7f0000001001, ADDR_EXACT, &f);
	return strtab_get(&strings, f[n - 1].function);
}

static void test_server(void)
{
	const u8 other[20] = { 1, 2, 3 }, third[20] = { 4, 5, 6 }, fourth[20] = { 7, 8, 9 };
	struct symbolizer *s;
	char url[64];
	time_t before;
	int port = free_port(NULL), listening = -1, silent;
	pid_t server;

	OK(run("mkdir served cache && printf '.text\\n.globl fetched\\n.type "
	       "fetched,@function\\nfetched: nop\\n nop\\n ret\\n.size fetched,3\\n' > p.s && "
	       "gcc -g -nostdlib -static -Wl,-Ttext=0x401000 -Wl,-e,fetched "
	       "-Wl,--build-id=0x" ID_HEX " p.s -o full && "
	       "objcopy --only-keep-debug full served/prog.debug && strip -o served/prog full"));
	server = start_server(port);
	wait_for(port, "/buildid/" ID_HEX "/debuginfo");
	wait_for(port, "/buildid/" ID_HEX "/executable");
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", port);
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", in_dir("cache"), 1);
	setenv("DEBUGINFOD_TIMEOUT", "2", 1);

	/* not asked unless told to */
	s = symbolizer(false);
	STR_EQ(name(s, 1, id), "[prog+0x1001]");
	sym_free(s);
	OK(!run("test -e cache/" ID_HEX " 2>/dev/null"));

	s = symbolizer(true);
	STR_EQ(name(s, 1, id), "fetched");
	/* a file that the server has not is no failure */
	STR_EQ(name(s, 2, other), "[prog+0x1001]");
	EQ(diag.entries.n, 0);
	sym_free(s);

	kill(server, SIGTERM);
	waitpid(server, NULL, 0);
	/* both answers are remembered without the server */
	s = symbolizer(true);
	STR_EQ(name(s, 1, id), "fetched");
	STR_EQ(name(s, 2, other), "[prog+0x1001]");
	EQ(diag.entries.n, 0);
	/* a new question is not answered; that is told once, and nothing more is asked */
	STR_EQ(name(s, 3, third), "[prog+0x1001]");
	STR_EQ(name(s, 4, fourth), "[prog+0x1001]");
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 1);
	sym_free(s);

	/* a server that takes the question and says nothing */
	silent = free_port(&listening);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d/", silent);
	setenv("DEBUGINFOD_URLS", url, 1);
	before = time(NULL);
	s = symbolizer(true);
	STR_EQ(name(s, 3, third), "[prog+0x1001]");
	STR_EQ(name(s, 4, fourth), "[prog+0x1001]");
	OK(time(NULL) - before < 40);
	EQ(diag_count(&diag, DIAG_SYMBOL_FILE), 2);
	sym_free(s);
	close(listening);
}

int main(void)
{
#ifndef HAVE_DEBUGINFOD
	printf("1..0 # SKIP built without debuginfod\n");
	return 0;
#endif
	if (!made_start("gcc strip objcopy debuginfod"))
		return 0;
	strtab_init(&strings);
	diag_init(&diag);
	test_server();
	strtab_release(&strings);
	diag_release(&diag);
	made_end();
	return tap_done();
}
