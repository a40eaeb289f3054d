/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading whole files; writing files that appear whole or not at all. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define OUT_LIMIT (256 * 1024)

bool file_exists(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

const char *path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

char *path_join(const char *dir, const char *name)
{
	size_t n = strlen(dir);

	return xasprintf("%s%s%s", dir, n && dir[n - 1] == '/' ? "" : "/", name);
}

static int read_all(struct file_map *m, int fd, const char *path, u64 max, struct error *err)
{
	size_t cap = 0, n = 0;
	void *p = NULL;
	ssize_t r;

	for (;;) {
		if (n == cap)
			vec_grow(&p, &cap, n + 65536, 1);
		r = read(fd, (char *)p + n, cap - n);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			error_errno(err, "'%s': cannot read", path);
			free(p);
			return -1;
		}
		if (!r)
			break;
		n += (size_t)r;
		if (max && n > max) {
			error_set(err, "'%s': larger than %" PRIu64 " bytes", path, max);
			free(p);
			return -1;
		}
	}
	m->p = p;
	m->n = n;
	m->mapped = false;
	return 0;
}

int file_map_open(struct file_map *m, const char *path, u64 max, struct error *err)
{
	struct stat st;
	int fd, ret = -1;
	void *p;

	memset(m, 0, sizeof(*m));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_errno(err, "'%s': cannot open", path);
	if (fstat(fd, &st)) {
		error_errno(err, "'%s': cannot stat", path);
		goto out;
	}
	if (S_ISDIR(st.st_mode)) {
		error_set(err, "'%s': is a directory", path);
		goto out;
	}
	if (S_ISREG(st.st_mode) && st.st_size > 0) {
		if (max && (u64)st.st_size > max) {
			error_set(err, "'%s': larger than %" PRIu64 " bytes", path, max);
			goto out;
		}
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			m->p = p;
			m->n = (size_t)st.st_size;
			m->mapped = true;
			ret = 0;
			goto out;
		}
	}
	ret = read_all(m, fd, path, max, err);
out:
	close(fd);
	return ret;
}

void file_map_close(struct file_map *m)
{
	if (m->mapped)
		munmap((void *)(uintptr_t)m->p, m->n);
	else
		free((void *)(uintptr_t)m->p);
	memset(m, 0, sizeof(*m));
}

static void on_bus(int sig)
{
	static const char msg[] = "xenflame: a part of a file cannot be read: it became shorter "
				  "meanwhile, or its disk fails; try again when it is complete\n";

	(void)sig;
	temp_remove_all();
	if (write(STDERR_FILENO, msg, sizeof(msg) - 1) < 0) {
		/* The status tells it all the same. */
	}
	_exit(1);
}

void file_map_guard(void)
{
	signal(SIGBUS, on_bus);
}

int out_open(struct out *o, const char *path, struct error *err)
{
	struct stat st, standard;
	mode_t mask;

	memset(o, 0, sizeof(*o));
	o->fd = -1;
	if (!strcmp(path, "-")) {
		o->fd = STDOUT_FILENO;
		return 0;
	}
	/* A link stays one: what it points to is replaced. */
	o->path = !lstat(path, &st) && S_ISLNK(st.st_mode) ? realpath(path, NULL) : NULL;
	if (!o->path)
		o->path = xstrdup(path);
	if (!stat(path, &st)) {
		if (S_ISDIR(st.st_mode)) {
			error_set(err, "'%s': is a directory", path);
			goto fail;
		}
		/* /dev/stdout, or the very file that standard output goes to. */
		if (S_ISREG(st.st_mode) && !fstat(STDOUT_FILENO, &standard) &&
		    st.st_dev == standard.st_dev && st.st_ino == standard.st_ino) {
			free(o->path);
			o->path = NULL;
			o->fd = STDOUT_FILENO;
			return 0;
		}
		if (!S_ISREG(st.st_mode)) {
			o->fd = open(path, O_WRONLY | O_CLOEXEC);
			if (o->fd < 0) {
				error_errno(err, "'%s': cannot write", path);
				goto fail;
			}
			return 0;
		}
	}
	o->tmp = xasprintf("%s.XXXXXX", o->path);
	o->fd = temp_file(o->tmp, 0);
	if (o->fd < 0) {
		error_errno(err, "'%s': cannot write", path);
		free(o->tmp);
		o->tmp = NULL;
		goto fail;
	}
	/* mkstemps() makes files that only the owner reads. */
	mask = umask(0);
	umask(mask);
	if (fchmod(o->fd, 0666 & ~mask))
		o->saved_errno = errno;
	return 0;
fail:
	free(o->path);
	o->path = NULL;
	return -1;
}

void out_open_mem(struct out *o, struct buf *mem)
{
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	o->mem = mem;
}

/* The first n bytes; what is behind them moves to the front. */
static void flush(struct out *o, size_t n)
{
	size_t done = 0;
	ssize_t r;

	if (o->mem)
		buf_put(o->mem, o->buf.p, n);
	while (!o->mem && !o->failed && done < n) {
		r = write(o->fd, o->buf.p + done, n - done);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0) {
			o->failed = true;
			o->saved_errno = errno;
			break;
		}
		done += (size_t)r;
	}
	o->buf.n -= n;
	if (o->buf.n)
		memmove(o->buf.p, o->buf.p + n, o->buf.n);
}

bool out_flush_before(struct out *o, size_t n)
{
	if (n < OUT_LIMIT)
		return false;
	flush(o, n);
	return true;
}

void out_flush_if_full(struct out *o)
{
	out_flush_before(o, o->buf.n);
}

void out_write(struct out *o, const void *p, size_t n)
{
	buf_put(&o->buf, p, n);
	out_flush_if_full(o);
}

void out_puts(struct out *o, const char *s)
{
	out_write(o, s, strlen(s));
}

void out_printf(struct out *o, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	p = xmalloc((size_t)n + 1);
	va_start(ap, fmt);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	out_write(o, p, (size_t)n);
	free(p);
}

static void out_release(struct out *o)
{
	buf_release(&o->buf);
	free(o->path);
	free(o->tmp);
	memset(o, 0, sizeof(*o));
	o->fd = -1;
}

int out_close(struct out *o, struct error *err)
{
	const char *name = o->path ? o->path : "standard output";
	int ret = 0;

	flush(o, o->buf.n);
	if (o->path && o->fd >= 0 && close(o->fd) && !o->failed) {
		o->failed = true;
		o->saved_errno = errno;
	}
	if (!o->failed && o->tmp && rename(o->tmp, o->path)) {
		o->failed = true;
		o->saved_errno = errno;
	}
	if (o->tmp && !o->failed)
		temp_forget(o->tmp);
	if (o->failed) {
		if (o->tmp)
			temp_remove(o->tmp);
		errno = o->saved_errno;
		ret = error_errno(err, "'%s': cannot write", name);
	}
	out_release(o);
	return ret;
}

void out_abort(struct out *o)
{
	if (o->path && o->fd >= 0)
		close(o->fd);
	if (o->tmp)
		temp_remove(o->tmp);
	out_release(o);
}
