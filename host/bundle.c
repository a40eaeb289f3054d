/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording and all that reading it takes, in one compressed tar: ustar (POSIX.1-1988), so that
 * any tar unpacks it.
 *
 * Reading trusts nothing: names are relative and clean, parents are folders that we made, links are
 * made last and stay inside, sizes and numbers are bounded, and each file must have the sum that
 * the manifest gives.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>
#include <zlib.h>
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#include "host/host.h"

#define BLOCK        512
#define MAX_SIZE     077777777777ULL /* what 11 octal digits hold */
#define MAX_MANIFEST (64 << 20)

struct header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], chksum[8], typeflag,
		linkname[100], magic[6], version[2], uname[32], gname[32], devmajor[8], devminor[8],
		prefix[155], pad[12];
};

/* ---- entries ---- */

void bundle_release(struct bundle *b)
{
	size_t i;

	for (i = 0; i < b->entries.n; i++) {
		free(b->entries.v[i].name);
		free(b->entries.v[i].path);
		free(b->entries.v[i].link);
		buf_release(&b->entries.v[i].data);
	}
	vec_release(&b->entries);
}

/* Relative, no empty, "." or ".." part, no control characters, bounded. */
static bool is_clean(const char *name)
{
	const char *s = name;
	size_t n;

	if (!*name || strlen(name) > 1024)
		return false;
	for (; *s; s += n + (s[n] == '/')) {
		size_t i;

		n = strcspn(s, "/");
		if (!n || n > 255 || (n == 1 && *s == '.') ||
		    (n == 2 && s[0] == '.' && s[1] == '.'))
			return false;
		for (i = 0; i < n; i++)
			if ((unsigned char)s[i] < ' ')
				return false;
		if (s[n] == '/' && !s[n + 1])
			return false;
	}
	return true;
}

/* Leading "../" at most as often as the link is deep, the rest clean: then it stays inside whatever
 * else is linked. */
static bool is_inside(const char *name, const char *target)
{
	size_t depth = 0;

	for (; (name = strchr(name, '/')); name++)
		depth++;
	for (; !strncmp(target, "../", 3); target += 3)
		if (!depth--)
			return false;
	return is_clean(target);
}

/* Name and prefix of a header; false when the name does not fit. */
static bool split_name(const char *name, struct header *h)
{
	size_t n = strlen(name), at;

	if (n <= sizeof(h->name)) {
		memcpy(h->name, name, n);
		return true;
	}
	for (at = MIN(n - 1, sizeof(h->prefix));
	     at && (name[at] != '/' || n - at - 1 > sizeof(h->name)); at--)
		;
	if (!at || n - at - 1 > sizeof(h->name))
		return false;
	memcpy(h->prefix, name, at);
	memcpy(h->name, name + at + 1, n - at - 1);
	return true;
}

static struct bundle_entry *add(struct bundle *b, const char *name)
{
	struct header h;
	size_t i;

	if (!is_clean(name) || !split_name(name, &h) || !strcmp(name, BUNDLE_MANIFEST))
		return NULL;
	for (i = 0; i < b->entries.n; i++)
		if (!strcmp(b->entries.v[i].name, name))
			return NULL;
	vec_push(&b->entries, ((struct bundle_entry){ .name = xstrdup(name) }));
	return &b->entries.v[b->entries.n - 1];
}

bool bundle_add_file(struct bundle *b, const char *name, const char *path)
{
	struct bundle_entry *e = add(b, name);

	if (e)
		e->path = xstrdup(path);
	return e != NULL;
}

bool bundle_add_data(struct bundle *b, const char *name, const void *p, size_t n)
{
	struct bundle_entry *e = add(b, name);

	if (e) {
		buf_put(&e->data, p, n);
		e->size = n;
	}
	return e != NULL;
}

bool bundle_add_link(struct bundle *b, const char *name, const char *target)
{
	struct bundle_entry *e;

	if (strlen(target) > sizeof(((struct header *)NULL)->linkname) || !is_inside(name, target))
		return false;
	e = add(b, name);
	if (e)
		e->link = xstrdup(target);
	return e != NULL;
}

/* Features of a perf.data header: tools/perf/Documentation/perf.data-file-format.txt in Linux'
 * sources. */
#define FEATURE_HOSTNAME 3
#define FEATURE_CMDLINE  11
#define FEATURES_AT      72
#define FEATURES         256

static void blank_string(struct buf *b, u64 *at, u64 end)
{
	u32 len;

	if (end - *at < sizeof(len)) {
		*at = end;
		return;
	}
	memcpy(&len, b->p + *at, sizeof(len));
	*at += sizeof(len);
	if (len > end - *at)
		len = (u32)(end - *at);
	memset(b->p + *at, 0, len);
	*at += len;
}

int bundle_blank_recording(struct buf *b, const char *path, struct error *err)
{
	u64 word[4], table, bits[FEATURES / 64], at, end, i;
	u32 nr;

	/* magic, size, size of an attribute; sections of attributes and data */
	if (b->n < FEATURES_AT + sizeof(bits) || memcmp(b->p, "PERFILE2", 8))
		return error_set(
			err,
			"'%s': --anonymous can take the host's name out of perf.data files only",
			path);
	memcpy(word, b->p + 8, sizeof(u64));
	if (word[0] < FEATURES_AT + sizeof(bits) || word[0] > 4096)
		return error_set(err, "'%s': --anonymous does not know this kind of perf.data",
				 path);
	memcpy(word, b->p + 40, 2 * sizeof(u64));
	memcpy(bits, b->p + FEATURES_AT, sizeof(bits));
	if (word[0] > b->n || word[1] > b->n - word[0])
		return error_set(err, "'%s': --anonymous: the file is cut off", path);
	table = word[0] + word[1];
	for (i = 0; i < FEATURES; i++) {
		if (!(bits[i / 64] >> i % 64 & 1))
			continue;
		if (b->n - table < 16)
			return error_set(err, "'%s': --anonymous: the file is cut off", path);
		memcpy(word, b->p + table, 2 * sizeof(u64));
		table += 16;
		if (i != FEATURE_HOSTNAME && i != FEATURE_CMDLINE)
			continue;
		if (word[0] > b->n || word[1] > b->n - word[0])
			return error_set(err, "'%s': --anonymous: the file is cut off", path);
		at = word[0];
		end = word[0] + word[1];
		if (i == FEATURE_HOSTNAME) {
			blank_string(b, &at, end);
		} else if (word[1] >= sizeof(nr)) {
			at += sizeof(nr);
			while (at < end)
				blank_string(b, &at, end);
		}
	}
	return 0;
}

/* ---- writing ---- */

enum packing { PACK_NONE, PACK_GZIP, PACK_ZSTD };

struct sink {
	struct out out;
	enum packing packing;
	z_stream z;
#ifdef HAVE_ZSTD
	ZSTD_CCtx *zstd;
#endif
	bool failed;
};

static bool ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), k = strlen(suffix);

	return n >= k && !strcmp(s + n - k, suffix);
}

const char *bundle_suffix(void)
{
#ifdef HAVE_ZSTD
	return ".tar.zst";
#else
	return ".tar.gz";
#endif
}

static int sink_open(struct sink *s, const char *path, struct error *err)
{
	memset(s, 0, sizeof(*s));
	if (ends_with(path, ".zst")) {
#ifdef HAVE_ZSTD
		s->packing = PACK_ZSTD;
		s->zstd = ZSTD_createCCtx();
		if (!s->zstd)
			return error_set(err, "'%s': no memory for compression", path);
		ZSTD_CCtx_setParameter(s->zstd, ZSTD_c_checksumFlag, 1);
#else
		return error_set(err, "'%s': this build has no zstd; name it .tar.gz", path);
#endif
	} else if (ends_with(path, "gz")) {
		s->packing = PACK_GZIP;
		/* 16: gzip's frame; its time field stays 0 */
		if (deflateInit2(&s->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8,
				 Z_DEFAULT_STRATEGY) != Z_OK)
			return error_set(err, "'%s': no memory for compression", path);
	}
	return out_open(&s->out, path, err);
}

static void sink_put(struct sink *s, const void *p, size_t n, bool end)
{
	char room[65536];

	if (s->packing == PACK_NONE) {
		out_write(&s->out, p, n);
		return;
	}
	if (s->packing == PACK_GZIP) {
		int ret;

		do {
			uInt part = (uInt)MIN(n, (size_t)1 << 30);

			s->z.next_in = (Bytef *)(uintptr_t)p;
			s->z.avail_in = part;
			do {
				s->z.next_out = (Bytef *)room;
				s->z.avail_out = sizeof(room);
				ret = deflate(&s->z, end && part == n ? Z_FINISH : Z_NO_FLUSH);
				out_write(&s->out, room, sizeof(room) - s->z.avail_out);
			} while (!s->z.avail_out && ret != Z_STREAM_END);
			p = (const char *)p + part;
			n -= part;
		} while (n);
		return;
	}
#ifdef HAVE_ZSTD
	{
		ZSTD_inBuffer in = { .src = p, .size = n };
		size_t left;

		do {
			ZSTD_outBuffer o = { .dst = room, .size = sizeof(room) };

			left = ZSTD_compressStream2(s->zstd, &o, &in,
						    end ? ZSTD_e_end : ZSTD_e_continue);
			if (ZSTD_isError(left)) {
				s->failed = true;
				return;
			}
			out_write(&s->out, room, o.pos);
		} while (in.pos < in.size || (end && left));
	}
#endif
}

static void sink_release(struct sink *s)
{
	if (s->packing == PACK_GZIP)
		deflateEnd(&s->z);
#ifdef HAVE_ZSTD
	ZSTD_freeCCtx(s->zstd);
#endif
}

static void put_header(struct sink *s, const char *name, u64 size, const char *link, s64 mtime)
{
	struct header h;
	unsigned int sum = 0;
	size_t i;

	memset(&h, 0, sizeof(h));
	if (!split_name(name, &h))
		s->failed = true; /* add() has asked */
	snprintf(h.mode, sizeof(h.mode), "%07o", link ? 0777 : 0644);
	snprintf(h.uid, sizeof(h.uid), "%07o", 0);
	snprintf(h.gid, sizeof(h.gid), "%07o", 0);
	snprintf(h.size, sizeof(h.size), "%011" PRIo64, size);
	snprintf(h.mtime, sizeof(h.mtime), "%011" PRIo64,
		 mtime > 0 ? (u64)(mtime & (s64)MAX_SIZE) : (u64)0);
	h.typeflag = link ? '2' : '0';
	if (link)
		memcpy(h.linkname, link, strlen(link));
	memcpy(h.magic, "ustar", 6);
	memcpy(h.version, "00", 2);
	memset(h.chksum, ' ', sizeof(h.chksum));
	for (i = 0; i < sizeof(h); i++)
		sum += ((const u8 *)&h)[i];
	snprintf(h.chksum, sizeof(h.chksum), "%06o", sum);
	sink_put(s, &h, sizeof(h), false);
}

static void put_contents(struct sink *s, const void *p, size_t n)
{
	static const char zeros[2 * BLOCK];

	sink_put(s, p, n, false);
	if (n % BLOCK)
		sink_put(s, zeros, BLOCK - n % BLOCK, false);
}

static int cmp_entries(const void *a, const void *b)
{
	return strcmp(((const struct bundle_entry *)a)->name,
		      ((const struct bundle_entry *)b)->name);
}

static void make_manifest(struct bundle *b, const char *about, struct buf *m)
{
	char hex[65];
	size_t i;

	buf_puts(m, "{\n\"format\":\"xenflame-bundle\",\n\"version\":1,\n");
	if (*about)
		buf_printf(m, "%s,\n", about);
	buf_puts(m, "\"files\":[");
	for (i = 0; i < b->entries.n; i++) {
		const struct bundle_entry *e = &b->entries.v[i];

		buf_puts(m, i ? ",\n{\"name\":" : "\n{\"name\":");
		buf_json(m, e->name, strlen(e->name));
		if (e->link) {
			buf_puts(m, ",\"link\":");
			buf_json(m, e->link, strlen(e->link));
		} else {
			build_id_hex(e->sha256, sizeof(e->sha256), hex);
			buf_printf(m, ",\"size\":%" PRIu64 ",\"sha256\":\"%s\"", e->size, hex);
		}
		buf_putc(m, '}');
	}
	buf_puts(m, "]\n}\n");
}

int bundle_write(struct bundle *b, const char *path, const char *about, struct error *err)
{
	static const char zeros[2 * BLOCK];
	struct buf manifest = BUF_INIT;
	struct file_map map;
	struct sink s;
	int ret = -1;
	size_t i;
	bool same;
	u8 sum[32];

	if (b->entries.n)
		qsort(b->entries.v, b->entries.n, sizeof(*b->entries.v), cmp_entries);
	for (i = 0; i < b->entries.n; i++) {
		struct bundle_entry *e = &b->entries.v[i];

		if (e->path) {
			if (file_map_open(&map, e->path, MAX_SIZE, err))
				return -1;
			e->size = map.n;
			sha256(map.p, map.n, e->sha256);
			file_map_close(&map);
		} else if (!e->link) {
			sha256(e->data.p, e->data.n, e->sha256);
		}
	}
	make_manifest(b, about, &manifest);
	if (sink_open(&s, path, err))
		goto out;
	put_header(&s, BUNDLE_MANIFEST, manifest.n, NULL, b->mtime);
	put_contents(&s, manifest.p, manifest.n);
	for (i = 0; i < b->entries.n; i++) {
		struct bundle_entry *e = &b->entries.v[i];

		put_header(&s, e->name, e->size, e->link, b->mtime);
		if (e->path) {
			if (file_map_open(&map, e->path, MAX_SIZE, err))
				break;
			sha256(map.p, map.n, sum);
			same = map.n == e->size && !memcmp(sum, e->sha256, sizeof(sum));
			if (same)
				put_contents(&s, map.p, map.n);
			file_map_close(&map);
			if (!same) {
				error_set(err, "'%s': changes while it is read", e->path);
				break;
			}
		} else if (!e->link) {
			put_contents(&s, e->data.p, e->data.n);
		}
	}
	if (i == b->entries.n && !s.failed) {
		sink_put(&s, zeros, sizeof(zeros), true);
		ret = out_close(&s.out, err);
	} else {
		error_set(err, "'%s': compression failed", path);
		out_abort(&s.out);
	}
out:
	sink_release(&s);
	buf_release(&manifest);
	return ret;
}

/* ---- reading ---- */

struct source {
	int fd;
	const char *path;
	enum packing packing;
	z_stream z;
#ifdef HAVE_ZSTD
	ZSTD_DCtx *zstd;
#endif
	u8 in[65536];
	size_t at, n;
	bool eof;
};

static int fill(struct source *s)
{
	ssize_t r;

	if (s->at < s->n || s->eof)
		return 0;
	do {
		r = read(s->fd, s->in, sizeof(s->in));
	} while (r < 0 && errno == EINTR);
	if (r < 0)
		return -1;
	s->eof = !r;
	s->at = 0;
	s->n = (size_t)r;
	return 0;
}

static int source_open(struct source *s, const char *path, struct error *err)
{
	memset(s, 0, offsetof(struct source, in));
	s->at = s->n = 0;
	s->eof = false;
	s->path = path;
	s->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (s->fd < 0)
		return error_errno(err, "'%s': cannot open", path);
	if (fill(s))
		return error_errno(err, "'%s': cannot read", path);
	if (s->n >= 2 && s->in[0] == 0x1f && s->in[1] == 0x8b) {
		s->packing = PACK_GZIP;
		if (inflateInit2(&s->z, 15 + 16) != Z_OK)
			return error_set(err, "'%s': no memory to unpack", path);
	} else if (s->n >= 4 && !memcmp(s->in, "\x28\xb5\x2f\xfd", 4)) {
#ifdef HAVE_ZSTD
		s->packing = PACK_ZSTD;
		s->zstd = ZSTD_createDCtx();
		if (!s->zstd)
			return error_set(err, "'%s': no memory to unpack", path);
#else
		return error_set(err, "'%s': compressed with zstd, which this build has not", path);
#endif
	}
	return 0;
}

static void source_close(struct source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	if (s->packing == PACK_GZIP)
		inflateEnd(&s->z);
#ifdef HAVE_ZSTD
	ZSTD_freeDCtx(s->zstd);
#endif
}

/* Up to n bytes; fewer only at the end; -1: damaged. */
static ssize_t source_read(struct source *s, void *p, size_t n)
{
	size_t got = 0;

	while (got < n) {
		if (fill(s))
			return -1;
		if (s->eof)
			break;
		if (s->packing == PACK_NONE) {
			size_t k = MIN(n - got, s->n - s->at);

			memcpy((u8 *)p + got, s->in + s->at, k);
			s->at += k;
			got += k;
		} else if (s->packing == PACK_GZIP) {
			uInt room = (uInt)MIN(n - got, (size_t)1 << 30);
			int r;

			s->z.next_in = s->in + s->at;
			s->z.avail_in = (uInt)(s->n - s->at);
			s->z.next_out = (u8 *)p + got;
			s->z.avail_out = room;
			r = inflate(&s->z, Z_NO_FLUSH);
			s->at = s->n - s->z.avail_in;
			got += room - s->z.avail_out;
			if (r == Z_STREAM_END)
				s->eof = true;
			else if (r != Z_OK && r != Z_BUF_ERROR)
				return -1;
		} else {
#ifdef HAVE_ZSTD
			ZSTD_inBuffer in = { .src = s->in, .size = s->n, .pos = s->at };
			ZSTD_outBuffer o = { .dst = (u8 *)p + got, .size = n - got };

			if (ZSTD_isError(ZSTD_decompressStream(s->zstd, &o, &in)))
				return -1;
			s->at = in.pos;
			got += o.pos;
#endif
		}
	}
	return (ssize_t)got;
}

static int octal(const char *s, size_t n, u64 *v)
{
	size_t i = 0;

	*v = 0;
	while (i < n && s[i] == ' ')
		i++;
	for (; i < n && s[i] >= '0' && s[i] <= '7'; i++) {
		if (*v >> 60)
			return -1;
		*v = *v << 3 | (u64)(s[i] - '0');
	}
	return i < n && s[i] && s[i] != ' ' ? -1 : 0;
}

static bool is_header(const struct header *h)
{
	struct header copy = *h;
	unsigned int sum = 0;
	u64 want;
	size_t i;

	if (memcmp(h->magic, "ustar", 5) || octal(h->chksum, sizeof(h->chksum), &want))
		return false;
	memset(copy.chksum, ' ', sizeof(copy.chksum));
	for (i = 0; i < sizeof(copy); i++)
		sum += ((const u8 *)&copy)[i];
	return sum == want;
}

bool bundle_is(const char *path)
{
	struct header h;
	struct source s;
	struct stat st;
	bool is;

	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	is = !source_open(&s, path, NULL) && source_read(&s, &h, sizeof(h)) == sizeof(h) &&
	     is_header(&h) && !strncmp(h.name, BUNDLE_MANIFEST, sizeof(h.name));
	source_close(&s);
	return is;
}

/* Folders above a file; each is one that we made. */
static int make_parents(const char *dir, const char *name, struct error *err)
{
	const char *s = name;
	struct stat st;

	while ((s = strchr(s, '/'))) {
		char *path = xasprintf("%s/%.*s", dir, (int)(s - name), name);
		int r = mkdir(path, 0700);

		if (!r) {
			temp_note(path);
		} else if (errno != EEXIST || lstat(path, &st) || !S_ISDIR(st.st_mode)) {
			error_errno(err, "'%s': cannot make this folder", path);
			free(path);
			return -1;
		}
		free(path);
		s++;
	}
	return 0;
}

static const json_t *manifest_file(const json_t *manifest, const char *name, size_t nr)
{
	/* Entries stand in the order of the manifest. */
	const json_t *f = json_array_get(json_object_get(manifest, "files"), nr);
	const char *have = json_string_value(json_object_get(f, "name"));

	return have && !strcmp(have, name) ? f : NULL;
}

static int write_file(const char *path, const void *p, size_t n, s64 mtime, struct error *err)
{
	struct timespec times[2] = { { .tv_sec = mtime }, { .tv_sec = mtime } };
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	size_t at = 0;
	ssize_t w;

	if (fd < 0)
		return error_errno(err, "'%s': cannot write", path);
	temp_note(path);
	while (at < n) {
		w = write(fd, (const char *)p + at, n - at);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0) {
			error_errno(err, "'%s': cannot write", path);
			close(fd);
			return -1;
		}
		at += (size_t)w;
	}
	futimens(fd, times);
	if (close(fd))
		return error_errno(err, "'%s': cannot write", path);
	return 0;
}

/* Contents of an entry and what fills its last block. Grows with what is there, not with what a
 * header says. */
static int read_contents(struct source *s, u64 size, struct buf *b, struct error *err)
{
	u64 padded = (size + BLOCK - 1) / BLOCK * BLOCK;

	buf_clear(b);
	while (b->n < padded) {
		size_t want = (size_t)MIN(padded - b->n, (u64)1 << 20);
		ssize_t got;

		buf_reserve(b, want);
		got = source_read(s, b->p + b->n, want);
		if (got < 0 || (size_t)got < want)
			return error_set(err, "'%s': the bundle is damaged or ends too early",
					 s->path);
		b->n += (size_t)got;
	}
	b->n = (size_t)size;
	return 0;
}

struct link {
	char *path, *target;
};

static int unpack(struct source *s, const char *dir, char **recording, struct error *err)
{
	VEC(struct link) links = { NULL, 0, 0 };
	struct buf data = BUF_INIT;
	json_t *manifest = NULL;
	u64 size, mtime, total = 0;
	struct header h;
	char name[sizeof(h.name) + sizeof(h.prefix) + 2], target[sizeof(h.linkname) + 1], hex[65];
	size_t nr = 0, i;
	int ret = -1;
	u8 sum[32];

	for (;;) {
		const json_t *f;
		char *path;

		if (source_read(s, &h, sizeof(h)) != sizeof(h)) {
			error_set(err, "'%s': the bundle is damaged or ends too early", s->path);
			goto out;
		}
		if (!h.name[0])
			break;
		if (!is_header(&h) || octal(h.size, sizeof(h.size), &size) ||
		    octal(h.mtime, sizeof(h.mtime), &mtime)) {
			error_set(err, "'%s': entry %zu of the bundle is damaged", s->path, nr);
			goto out;
		}
		if (h.prefix[0])
			snprintf(name, sizeof(name), "%.*s/%.*s", (int)sizeof(h.prefix), h.prefix,
				 (int)sizeof(h.name), h.name);
		else
			snprintf(name, sizeof(name), "%.*s", (int)sizeof(h.name), h.name);
		snprintf(target, sizeof(target), "%.*s", (int)sizeof(h.linkname), h.linkname);
		total += size;
		if (nr > BUNDLE_MAX_ENTRIES || size > MAX_SIZE || total > BUNDLE_MAX_BYTES ||
		    (!manifest && size > MAX_MANIFEST)) {
			error_set(err,
				  "'%s': the bundle holds more than %d files or %" PRIu64 " bytes",
				  s->path, BUNDLE_MAX_ENTRIES, BUNDLE_MAX_BYTES);
			goto out;
		}
		if (!manifest) {
			if (strcmp(name, BUNDLE_MANIFEST) || read_contents(s, size, &data, err)) {
				error_set(
					err,
					"'%s': no bundle: its first entry is not " BUNDLE_MANIFEST,
					s->path);
				goto out;
			}
			manifest = json_loadb(data.p ? data.p : "", data.n, 0, NULL);
			if (!manifest || !json_is_array(json_object_get(manifest, "files"))) {
				error_set(err, "'%s': the manifest of the bundle cannot be read",
					  s->path);
				goto out;
			}
			path = path_join(dir, name);
			ret = write_file(path, data.p, data.n, (s64)mtime, err);
			free(path);
			if (ret)
				goto out;
			ret = -1;
			continue;
		}
		f = manifest_file(manifest, name, nr++);
		if (!f || !is_clean(name) || (h.typeflag != '0' && h.typeflag != '2')) {
			error_set(err,
				  "'%s': entry '%s' of the bundle is not in its manifest, or is "
				  "none that a bundle may hold",
				  s->path, name);
			goto out;
		}
		if (make_parents(dir, name, err))
			goto out;
		path = path_join(dir, name);
		if (h.typeflag == '2') {
			if (!is_inside(name, target)) {
				error_set(err, "'%s': link '%s' leads out of the bundle", s->path,
					  name);
				free(path);
				goto out;
			}
			vec_push(&links,
				 ((struct link){ .path = path, .target = xstrdup(target) }));
			continue;
		}
		if (read_contents(s, size, &data, err)) {
			free(path);
			goto out;
		}
		sha256(data.p, data.n, sum);
		build_id_hex(sum, sizeof(sum), hex);
		if (!json_string_value(json_object_get(f, "sha256")) ||
		    strcmp(json_string_value(json_object_get(f, "sha256")), hex)) {
			error_set(
				err,
				"'%s': '%s' of the bundle has not the sum that the manifest gives",
				s->path, name);
			free(path);
			goto out;
		}
		i = (size_t)write_file(path, data.p, data.n, (s64)mtime, err);
		free(path);
		if (i)
			goto out;
	}
	for (i = 0; i < links.n; i++) {
		if (symlink(links.v[i].target, links.v[i].path)) {
			error_errno(err, "'%s': cannot make this link", links.v[i].path);
			goto out;
		}
		temp_note(links.v[i].path);
	}
	if (manifest && json_is_string(json_object_get(manifest, "recording"))) {
		const char *rec = json_string_value(json_object_get(manifest, "recording"));
		struct stat st;

		*recording = is_clean(rec) ? path_join(dir, rec) : NULL;
		if (*recording &&
		    (lstat(*recording, &st) || (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))) {
			free(*recording);
			*recording = NULL;
		}
	}
	if (!*recording)
		error_set(err, "'%s': the manifest of the bundle names no recording in it",
			  s->path);
	else
		ret = 0;
out:
	for (i = 0; i < links.n; i++) {
		free(links.v[i].path);
		free(links.v[i].target);
	}
	vec_release(&links);
	buf_release(&data);
	json_decref(manifest);
	return ret;
}

int bundle_unpack(const char *path, char **dir, char **recording, struct error *err)
{
	const char *tmp = getenv("TMPDIR");
	struct source *s = xcalloc(1, sizeof(*s));
	int ret = -1;

	*recording = NULL;
	*dir = xasprintf("%s/xenflame-XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp");
	if (temp_folder(*dir)) {
		error_errno(err, "'%s': cannot make a folder to unpack into", *dir);
		goto out;
	}
	if (!source_open(s, path, err) && !unpack(s, *dir, recording, err))
		ret = 0;
	source_close(s);
	if (ret)
		temp_remove(*dir);
out:
	if (ret) {
		free(*dir);
		*dir = NULL;
	}
	free(s);
	return ret;
}
