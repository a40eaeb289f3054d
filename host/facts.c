/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and commands of this machine, or of a tree that stands for another one. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#if defined(__has_include)
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#endif

#include "host/host.h"

#define MAX_FILE   (64 << 20)
#define MAX_NAMES  65536
#define COMMAND_MS 20000

extern char **environ;

struct host {
	char *root; /* NULL: this machine */
	int fd;     /* of the root */
};

static const struct {
	const char *name, *line;
	const char *const argv[4];
} commands[HOST_COMMAND_NR] = {
	[HOST_XL_INFO] = { "xl-info", "xl info", { "xl", "info" } },
	[HOST_XL_LIST] = { "xl-list", "xl list", { "xl", "list" } },
	[HOST_XL_VCPU_LIST] = { "xl-vcpu-list", "xl vcpu-list", { "xl", "vcpu-list" } },
	[HOST_XL_DMESG] = { "xl-dmesg", "xl dmesg", { "xl", "dmesg" } },
	[HOST_DMESG] = { "dmesg", "dmesg", { "dmesg" } },
	[HOST_XEN_CONFIG] = { "xen-config",
			      "xenhypfs cat /buildinfo/config",
			      { "xenhypfs", "cat", "/buildinfo/config" } },
	[HOST_UNAME] = { "uname", "uname -a", { "uname", "-a" } },
	[HOST_PERF_VERSION] = { "perf-version", "perf version", { "perf", "version" } },
};

static const struct {
	const char *name;
	int value;
} errnos[] = {
	{ "EOPNOTSUPP", EOPNOTSUPP }, { "EACCES", EACCES }, { "EPERM", EPERM },
	{ "EINVAL", EINVAL },         { "EBUSY", EBUSY },   { "ENOENT", ENOENT },
	{ "ENODEV", ENODEV },         { "EIO", EIO },       { "EAGAIN", EAGAIN },
	{ "ENOSYS", ENOSYS },
};

struct host *host_new(const char *root, struct error *err)
{
	struct host *h;
	int fd = open(root ? root : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0) {
		error_errno(err, "'%s': cannot open this folder", root ? root : "/");
		return NULL;
	}
	h = xcalloc(1, sizeof(*h));
	h->root = root ? xstrdup(root) : NULL;
	h->fd = fd;
	return h;
}

void host_free(struct host *h)
{
	if (!h)
		return;
	close(h->fd);
	free(h->root);
	free(h);
}

bool host_is_tree(const struct host *h)
{
	return h->root != NULL;
}

char *host_path(const struct host *h, const char *path)
{
	return h->root ? path_join(h->root, path + (*path == '/')) : xstrdup(path);
}

static int errno_by_name(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(errnos); i++)
		if (strlen(errnos[i].name) == n && !strncmp(errnos[i].name, s, n))
			return errnos[i].value;
	return EIO;
}

/* A file descriptor, or -1 with errno. Links inside a tree stay inside. */
static int host_open(const struct host *h, const char *path, int flags)
{
	path += *path == '/';
	flags |= flags & O_PATH ? O_CLOEXEC : O_CLOEXEC | O_NOCTTY;
	if (!h->root)
		return openat(h->fd, *path ? path : ".", flags);
#if defined(RESOLVE_IN_ROOT) && defined(SYS_openat2)
	{
		struct open_how how = { .flags = (u64)flags,
					.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
		int fd = (int)syscall(SYS_openat2, h->fd, *path ? path : ".", &how, sizeof(how));

		if (fd >= 0 || (errno != ENOSYS && errno != EPERM))
			return fd;
	}
#endif
	return openat(h->fd, *path ? path : ".", flags | O_NOFOLLOW);
}

/* All of a descriptor, which is closed. */
static int read_fd(int fd, struct buf *b)
{
	size_t start = b->n;
	int ret = 0;
	ssize_t r;

	for (;;) {
		buf_reserve(b, 65536);
		r = read(fd, b->p + b->n, 65536);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0) {
			ret = r < 0 ? errno : 0;
			break;
		}
		b->n += (size_t)r;
		if (b->n - start > MAX_FILE) {
			ret = EFBIG;
			break;
		}
	}
	close(fd);
	return ret;
}

/* What PATH + suffix of a tree says. */
static bool tree_note(const struct host *h, const char *path, const char *suffix, struct buf *b)
{
	char *name;
	int fd;

	if (!h->root)
		return false;
	name = xasprintf("%s%s", path, suffix);
	fd = host_open(h, name, O_RDONLY);
	free(name);
	return fd >= 0 && !read_fd(fd, b);
}

static int read_path(const struct host *h, const char *path, struct buf *b)
{
	struct buf note = BUF_INIT;
	struct stat st;
	int fd, ret;

	buf_clear(b);
	if (tree_note(h, path, ".errno", &note)) {
		ret = errno_by_name(buf_str(&note), strcspn(buf_str(&note), " \t\r\n"));
		buf_release(&note);
		return ret;
	}
	buf_release(&note);
	fd = host_open(h, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return errno;
	if (h->root && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return EINVAL;
	}
	return read_fd(fd, b);
}

int host_read(struct host *h, const char *path, struct buf *b)
{
	int ret = read_path(h, path, b);

	buf_str(b);
	return ret;
}

bool host_exists(struct host *h, const char *path)
{
	int fd = host_open(h, path, O_PATH);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int host_write(struct host *h, const char *path, const char *text)
{
	size_t n = strlen(text);
	struct buf note = BUF_INIT;
	ssize_t w;
	int fd, ret = 0;

	if (tree_note(h, path, ".write-errno", &note)) {
		const char *s = buf_str(&note);

		for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
			size_t value = strcspn(s, " \n"), name;

			if (s[value] != ' ' ||
			    ((value != n || strncmp(s, text, n)) && (value != 1 || *s != '*')))
				continue;
			name = strcspn(s + value + 1, " \r\n");
			ret = errno_by_name(s + value + 1, name);
			break;
		}
	}
	buf_release(&note);
	if (ret)
		return ret;
	fd = host_open(h, path, O_WRONLY | (h->root ? O_TRUNC : 0));
	if (fd < 0)
		return errno;
	do {
		w = write(fd, text, n);
	} while (w < 0 && errno == EINTR);
	ret = w < 0 ? errno : (size_t)w == n ? 0 : EIO;
	if (close(fd) && !ret)
		ret = errno;
	return ret;
}

static int cmp_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

char **host_list(struct host *h, const char *dir)
{
	VEC(char *) names = { NULL, 0, 0 };
	struct dirent *e;
	size_t bytes = 0, i;
	char **list, *p;
	DIR *d;
	int fd;

	fd = host_open(h, dir, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return NULL;
	d = fdopendir(fd);
	if (!d) {
		close(fd);
		return NULL;
	}
	while (names.n < MAX_NAMES && (e = readdir(d)))
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
			vec_push(&names, xstrdup(e->d_name));
			bytes += strlen(e->d_name) + 1;
		}
	closedir(d);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), cmp_names);
	list = xmalloc((names.n + 1) * sizeof(*list) + bytes);
	p = (char *)(list + names.n + 1);
	for (i = 0; i < names.n; i++) {
		size_t n = strlen(names.v[i]) + 1;

		memcpy(p, names.v[i], n);
		list[i] = p;
		p += n;
		free(names.v[i]);
	}
	list[names.n] = NULL;
	vec_release(&names);
	return list;
}

/* ---- commands ---- */

const char *host_command_name(enum host_command c)
{
	return commands[c].name;
}

const char *host_command_line(enum host_command c)
{
	return commands[c].line;
}

static int start(const char *const *argv, int out, pid_t *pid)
{
	static const char *const places[] = { "", "/usr/sbin/", "/sbin/", "/usr/local/sbin/" };
	posix_spawn_file_actions_t fa;
	int ret = ENOENT;
	size_t i;

	if (posix_spawn_file_actions_init(&fa))
		return ENOMEM;
	if (posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0) ||
	    posix_spawn_file_actions_adddup2(&fa, out, 1) ||
	    posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0)) {
		ret = ENOMEM;
		goto out;
	}
	for (i = 0; i < ARRAY_SIZE(places) && ret == ENOENT; i++) {
		char *name = xasprintf("%s%s", places[i], argv[0]);

		ret = posix_spawnp(pid, name, &fa, NULL, (char *const *)(uintptr_t)argv, environ);
		free(name);
	}
out:
	posix_spawn_file_actions_destroy(&fa);
	return ret;
}

static s64 now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (s64)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Output of a command that has COMMAND_MS to end: xl waits for ever when xenstored is stuck. */
static int run(const char *const *argv, struct buf *b)
{
	s64 end = now_ms() + COMMAND_MS;
	int fds[2], ret, status;
	struct pollfd p;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return errno;
	ret = start(argv, fds[1], &pid);
	close(fds[1]);
	if (ret) {
		close(fds[0]);
		return ret;
	}
	p = (struct pollfd){ .fd = fds[0], .events = POLLIN };
	for (;;) {
		s64 left = end - now_ms();
		ssize_t r;
		int n;

		n = poll(&p, 1, left > 0 ? (int)left : 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || b->n > MAX_FILE) {
			ret = n < 0 ? errno : n ? EFBIG : ETIMEDOUT;
			kill(pid, SIGKILL);
			break;
		}
		buf_reserve(b, 65536);
		r = read(fds[0], b->p + b->n, 65536);
		if (r < 0 && errno == EINTR)
			continue;
		if (r <= 0)
			break;
		b->n += (size_t)r;
	}
	close(fds[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!ret && (!WIFEXITED(status) || WEXITSTATUS(status)))
		ret = EIO;
	return ret;
}

int host_command(struct host *h, enum host_command c, struct buf *b)
{
	char *path;
	int ret;

	buf_clear(b);
	if (!h->root) {
		ret = run(commands[c].argv, b);
	} else {
		path = path_join("commands", commands[c].name);
		ret = read_path(h, path, b);
		free(path);
	}
	buf_str(b);
	return ret;
}
