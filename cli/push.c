/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xenflame push: a recording's stacks to a server that keeps profiles of many hosts.
 *
 * Facts: Grafana Pyroscope's server API. POST /ingest takes the profile as the body, in the query
 * name (application and labels, "app.cpu{key=value,key=value}"; what stands behind the last dot is
 * the kind of profile), from and until (Unix seconds), format, sampleRate (samples a second, 100
 * unless given), spyName, units, aggregationType.  Format folded is lines "a;b;c 12".
 *
 * Facts: OTLP's specification (docs/specification.md of opentelemetry-proto), OTLP/HTTP.  POST
 * /v1development/profiles takes an export request (render/otlp.c), application/x-protobuf, gzipped
 * or not, of at most 64 MiB before that.  429, 502, 503 and 504 may pass, nothing else.  A success'
 * body is a message with partial_success (1): rejected_profiles (1) and error_message (2); that of
 * a failure a google.rpc.Status, message (2).
 *
 * Facts: Parca's profilestore.proto (v1alpha1) and its HTTP gateway below /api.  POST
 * /profiles/writeraw takes JSON: series with labels, of which __name__ is needed, and samples with
 * a rawProfile, a pprof file in base64.
 */
#include <errno.h>
#include <fcntl.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "host/host.h"

enum {
	OPT_TO = OPTION_OF_VERB,
	OPT_AS,
	OPT_APP,
	OPT_LABEL,
	OPT_SPLIT,
	OPT_RATE,
	OPT_UNTIL,
	OPT_HEADER,
	OPT_CA_FILE,
	OPT_TIMEOUT,
	OPT_RETRIES,
	OPT_RETRY_WAIT,
	OPT_SYSROOT,
};

static const struct option_def own_options[] = {
	{ "to", OPT_TO, ARG_YES, "URL", "the server; needed", "Server" },
	{ "as", OPT_AS, ARG_YES, "pyroscope|otlp|parca|pprof",
	  "folded stacks to Pyroscope's /ingest (default), OpenTelemetry\nprofiles to "
	  "/v1development/profiles, pprof to Parca's\n/api/profiles/writeraw, or a pprof file to "
	  "just this URL",
	  NULL },
	{ "header", OPT_HEADER, ARG_YES, "TEXT",
	  "one more line of the request, 'Name: value'; '@FILE' takes the\nlines of FILE, for "
	  "secrets (may repeat)",
	  NULL },
	{ "ca-file", OPT_CA_FILE, ARG_YES, "FILE",
	  "certificates to trust instead of the system's (PEM)", NULL },
	{ "timeout", OPT_TIMEOUT, ARG_YES, "SECONDS", "for each try; 30 unless given", NULL },
	{ "retries", OPT_RETRIES, ARG_YES, "N", "tries after the first one; 5 unless given", NULL },
	{ "retry-wait", OPT_RETRY_WAIT, ARG_YES, "SECONDS",
	  "before the first of these, doubled for each; 1 unless given", NULL },

	{ "app", OPT_APP, ARG_YES, "NAME",
	  "name of the application; xenflame.cpu unless given, for otlp\nand parca xenflame",
	  "What is said of the profile" },
	{ "label", OPT_LABEL, ARG_YES, "NAME=VALUE",
	  "one more label, or another value for one of ours: host, kernel,\n"
	  "xen, domain; no VALUE: without it (may repeat)",
	  NULL },
	{ "split", OPT_SPLIT, ARG_YES, "space",
	  "a profile for each of hypervisor, kernel, user and the guests',\nby the innermost "
	  "frame, with the label space",
	  NULL },
	{ "rate", OPT_RATE, ARG_YES, "HZ",
	  "samples a second of each processor, when the input does not say", NULL },
	{ "until", OPT_UNTIL, ARG_YES, "TIME",
	  "when the recording ended, in Unix seconds; when FILE was last\nwritten unless given",
	  NULL },
	{ "sysroot", OPT_SYSROOT, ARG_YES, "DIR",
	  "files of the recorded host, for the labels xen and domain", NULL },
	{ "help", 'h', ARG_NO, NULL, "this text", "Other" },
	{ NULL, 0, ARG_NO, NULL, NULL, NULL },
};

#define MAX_HEADERS 65536
#define MAX_OTLP    ((size_t)64 << 20)
#define MAX_SECONDS ((u64)INT64_MAX / 1000000000) /* that are told in nanoseconds */

enum push_as { AS_PYROSCOPE, AS_OTLP, AS_PARCA, AS_PPROF };

static const struct {
	const char *name, *writer, *content_type;
} kinds[] = {
	[AS_PYROSCOPE] = { "pyroscope", "folded", "text/plain" },
	[AS_OTLP] = { "otlp", "otlp", "application/x-protobuf" },
	[AS_PARCA] = { "parca", "pprof", "application/json" },
	[AS_PPROF] = { "pprof", "pprof", "application/octet-stream" },
};

struct label {
	const char *name, *value;
};

struct push_args {
	struct draw_args draw;
	const char *to, *app, *ca_file, *sysroot;
	enum push_as as;
	bool split;
	struct label given[MAX_LIST];
	size_t nr_given;
	const char *headers[MAX_LIST + 1];
	size_t nr_headers;
	u64 rate, until;
	double timeout, retry_wait;
	u32 retries;

	/* once the recording is read */
	struct arena arena;
	VEC(struct label) labels;
	u64 from;
	VEC(struct render_fact) attributes; /* of resource */
	struct render_resource resource;
};

static void help(void)
{
	puts("usage: xenflame push [OPTION]... --to=URL FILE\n"
	     "\n"
	     "Sends the stacks of a recording to a server that keeps profiles of many hosts. FILE "
	     "is what\n"
	     "'xenflame FILE' reads.");
	options_help(own_options);
	puts("\nOptions for input, symbols and view are those of 'xenflame --help'.\n"
	     "\nExit status: 0 the server has taken all, 1 failed (with --strict also when "
	     "degraded), 2 wrong usage.");
}

/* ---- options ---- */

/* What Pyroscope's text of name and labels takes for its own. */
#define NO_NAME_CHARS "{}=,\"\\ \t\r\n"

/* Names with dots are OpenTelemetry's. */
static bool is_label_name(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!(s[i] == '_' || (i && i + 1 < n && s[i] == '.') ||
		      (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= 'A' && s[i] <= 'Z') ||
		      (i && s[i] >= '0' && s[i] <= '9')))
			return false;
	return n > 0;
}

static int take_label(struct push_args *a, const char *arg)
{
	const char *value = strchr(arg, '=');

	if (!value || !is_label_name(arg, (size_t)(value - arg)) ||
	    strpbrk(value + 1, "{}=,\"\\\r\n")) {
		tell("--label=%s: expected NAME=VALUE; a name is letters, digits and '_', a value "
		     "has none of { } = , \" \\",
		     arg);
		return -1;
	}
	if (a->nr_given == MAX_LIST) {
		tell("more than %d labels", MAX_LIST);
		return -1;
	}
	a->given[a->nr_given++] =
		(struct label){ arena_strndup(&a->arena, arg, (size_t)(value - arg)), value + 1 };
	return 0;
}

static int add_header(struct push_args *a, const char *line, size_t n)
{
	const char *colon = memchr(line, ':', n);
	size_t i;

	if (!n)
		return 0;
	for (i = 0; i < n; i++)
		if ((u8)line[i] < ' ' && line[i] != '\t')
			break;
	/* The text is not told: it may be a secret. */
	if (i < n || !colon || colon == line) {
		tell("--header: expected 'Name: value'");
		return -1;
	}
	if (a->nr_headers == MAX_LIST) {
		tell("more than %d headers", MAX_LIST);
		return -1;
	}
	a->headers[a->nr_headers++] = arena_strndup(&a->arena, line, n);
	return 0;
}

static int take_header(struct push_args *a, const char *arg)
{
	struct error err = { "" };
	struct file_map m;
	const char *p, *end, *nl;
	int ret = 0;

	if (*arg != '@')
		return add_header(a, arg, strlen(arg));
	if (file_map_open(&m, arg + 1, MAX_HEADERS, &err)) {
		tell("--header: %s", err.msg);
		return -1;
	}
	end = (const char *)m.p + m.n;
	for (p = (const char *)m.p; p && p < end && !ret; p = nl + 1) {
		size_t n;

		nl = memchr(p, '\n', (size_t)(end - p));
		if (!nl)
			nl = end;
		n = (size_t)(nl - p);
		ret = add_header(a, p, n && p[n - 1] == '\r' ? n - 1 : n);
	}
	file_map_close(&m);
	return ret;
}

static int take_own(struct push_args *a, int id, const char *arg)
{
	static const char *const schemes[] = { "http://", "https://" };
	u64 v = 0;

	switch (id) {
	case OPT_TO:
		for (v = 0; v < ARRAY_SIZE(schemes); v++)
			if (!strncasecmp(arg, schemes[v], strlen(schemes[v])) &&
			    arg[strlen(schemes[v])])
				break;
		if (v == ARRAY_SIZE(schemes)) {
			/* Not repeated: it may hold a password. */
			tell("--to: expected an address that begins with http:// or https://");
			return -1;
		}
		a->to = arg;
		return 0;
	case OPT_AS:
		for (v = 0; v < ARRAY_SIZE(kinds) && strcmp(kinds[v].name, arg); v++)
			;
		if (v == ARRAY_SIZE(kinds)) {
			tell("--as=%s: expected pyroscope, otlp, parca or pprof", arg);
			return -1;
		}
		a->as = (enum push_as)v;
		return 0;
	case OPT_APP:
		if (!*arg || strpbrk(arg, NO_NAME_CHARS)) {
			tell("--app=%s: expected a name without spaces and { } = , \" \\", arg);
			return -1;
		}
		a->app = arg;
		return 0;
	case OPT_LABEL: return take_label(a, arg);
	case OPT_SPLIT:
		if (strcmp(arg, "space")) {
			tell("--split=%s: expected space", arg);
			return -1;
		}
		a->split = true;
		return 0;
	case OPT_RATE: return option_whole("rate", arg, 1, 1000000, &a->rate);
	case OPT_UNTIL: return option_whole("until", arg, 1, 99999999999, &a->until);
	case OPT_HEADER: return take_header(a, arg);
	case OPT_CA_FILE: a->ca_file = arg; return 0;
	case OPT_TIMEOUT: return option_number("timeout", arg, 0.1, 3600, &a->timeout);
	case OPT_RETRIES:
		if (option_whole("retries", arg, 0, 100, &v))
			return -1;
		a->retries = (u32)v;
		return 0;
	case OPT_RETRY_WAIT: return option_number("retry-wait", arg, 0.01, 60, &a->retry_wait);
	case OPT_SYSROOT: a->sysroot = arg; return 0;
	default: return draw_take_option(&a->draw, id, arg);
	}
}

/* ---- labels ---- */

/* A label of ours: what the format takes for its own becomes '_'. */
static void add_label(struct push_args *a, const char *name, const char *value)
{
	char *copy, *p;
	size_t i;

	for (i = 0; i < a->nr_given; i++)
		if (!strcmp(a->given[i].name, name))
			return;
	if (!value || !*value)
		return;
	copy = arena_strndup(&a->arena, value, strlen(value));
	for (p = copy; *p; p++)
		if (strchr("{}=,\"\\", *p) || (u8)*p < ' ')
			*p = '_';
	vec_push(&a->labels, ((struct label){ name, copy }));
}

static const char *fact(const struct run *r, const char *key)
{
	size_t i;

	for (i = 0; i < r->facts.n; i++)
		if (!strcmp(r->facts.v[i].key, key))
			return r->facts.v[i].value;
	return NULL;
}

/* The one line of a file in /sys, appended. */
static int read_line(struct host *h, const char *path, struct buf *to)
{
	struct buf b = BUF_INIT;
	int ret = host_read(h, path, &b);

	if (!ret)
		buf_put(to, buf_str(&b), strcspn(buf_str(&b), "\r\n"));
	buf_release(&b);
	return ret;
}

/* What a recording does not say of its host but the host does: only when it is this machine, or
 * --sysroot names its files. */
static int host_labels(struct push_args *a, const struct run *r, struct error *err)
{
	const char *name = fact(r, "host"), *release = fact(r, "kernel");
	struct buf b = BUF_INIT;
	struct utsname u;
	struct host *h;

	if (!a->sysroot && (!name || !release || uname(&u) || strcmp(u.nodename, name) ||
			    strcmp(u.release, release)))
		return 0;
	h = host_new(a->sysroot, err);
	if (!h)
		return -1;
	if (!read_line(h, "/sys/hypervisor/type", &b) && !strcmp(buf_str(&b), "xen")) {
		buf_clear(&b);
		if (!read_line(h, "/sys/hypervisor/version/major", &b)) {
			buf_putc(&b, '.');
			if (!read_line(h, "/sys/hypervisor/version/minor", &b) &&
			    !read_line(h, "/sys/hypervisor/version/extra", &b))
				add_label(a, "xen", buf_str(&b));
		}
		buf_clear(&b);
		if (!read_line(h, "/proc/xen/capabilities", &b) && strstr(buf_str(&b), "control_d"))
			add_label(a, "domain", "dom0");
	}
	buf_release(&b);
	host_free(h);
	return 0;
}

static int cmp_label(const void *a, const void *b)
{
	return strcmp(((const struct label *)a)->name, ((const struct label *)b)->name);
}

static int make_labels(struct push_args *a, struct run *r, struct error *err)
{
	size_t i, k;

	if (!a->draw.anonymous)
		add_label(a, "host", fact(r, "host"));
	add_label(a, "kernel", fact(r, "kernel"));
	if (host_labels(a, r, err))
		return -1;
	for (i = 0; i < a->nr_given; i++) {
		/* The last one of a name counts. */
		for (k = i + 1; k < a->nr_given && strcmp(a->given[i].name, a->given[k].name); k++)
			;
		if (k == a->nr_given && *a->given[i].value)
			vec_push(&a->labels, a->given[i]);
	}
	if (a->labels.n)
		qsort(a->labels.v, a->labels.n, sizeof(*a->labels.v), cmp_label);
	return 0;
}

/* ---- time and rate ---- */

/* A recording's own clock starts at boot: its end on the wall's clock is when its file was last
 * written. */
static int make_times(struct push_args *a, const struct run *r, const char *path, struct error *err)
{
	u64 length = 0;
	struct stat st;

	if (!a->until) {
		if (!strcmp(path, "-"))
			a->until = (u64)time(NULL);
		else if (stat(path, &st))
			return error_errno(err, "'%s': cannot be looked at", path);
		else
			a->until = st.st_mtime > 0 ? (u64)st.st_mtime : 1;
	}
	if (r->first_time != UINT64_MAX)
		length = (r->last_time - r->first_time + 999999999) / 1000000000;
	length = MAX(length, (u64)1);
	a->from = a->until > length ? a->until - length : 0;
	return 0;
}

static void make_rate(struct push_args *a, struct run *r)
{
	str_id name = a->draw.view.event < 0 ? 0 : r->profile.events.v[a->draw.view.event].name;
	size_t i;

	for (i = 0; i < r->rates.n && !a->rate; i++)
		if (r->rates.v[i].event == name)
			a->rate = r->rates.v[i].hz;
	if (!a->rate && !a->draw.quiet)
		tell("note: the input does not say how often a second it was sampled, so the "
		     "server %s; --rate=HZ tells it",
		     a->as == AS_PYROSCOPE ? "takes 100" : "cannot make times of samples");
}

/* ---- what is sent ---- */

static void put_escaped(struct buf *b, const char *s)
{
	for (; *s; s++) {
		u8 c = (u8)*s;

		if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		    strchr("-._~", c))
			buf_putc(b, *s);
		else
			buf_printf(b, "%%%02X", c);
	}
}

/* The server's address, with `path` unless it ends in `end`. */
static void put_address(const struct push_args *a, const char *path, const char *end,
			struct buf *url)
{
	size_t n = strlen(a->to), len = strlen(end);

	while (n && a->to[n - 1] == '/')
		n--;
	buf_put(url, a->to, n);
	if (n < len || strncmp(a->to + n - len, end, len))
		buf_puts(url, path);
}

/* The server's address -> that of its ingest, with the query. `space` may be NULL. */
static void ingest_url(const struct push_args *a, const char *space, struct buf *url)
{
	struct buf name = BUF_INIT;
	const char *sep = "{";
	size_t i;

	put_address(a, "/ingest", "/ingest", url);
	buf_puts(&name, a->app);
	for (i = 0; i < a->labels.n; i++) {
		if (space && !strcmp(a->labels.v[i].name, "space"))
			continue;
		buf_printf(&name, "%s%s=%s", sep, a->labels.v[i].name, a->labels.v[i].value);
		sep = ",";
	}
	if (space) {
		buf_printf(&name, "%sspace=%s", sep, space);
		sep = ",";
	}
	if (*sep == ',')
		buf_putc(&name, '}');
	buf_puts(url, "?name=");
	put_escaped(url, buf_str(&name));
	buf_release(&name);
	buf_printf(url, "&from=%" PRIu64 "&until=%" PRIu64 "&format=folded", a->from, a->until);
	if (a->rate)
		buf_printf(url, "&sampleRate=%" PRIu64, a->rate);
	buf_puts(url, "&spyName=xenflame&units=samples&aggregationType=sum");
}

static void told(void *ctx, const char *why, u32 wait_ms)
{
	const struct push_args *a = ctx;

	if (!a->draw.quiet)
		tell("%s; trying again in %.1f s", why, wait_ms / 1000.0);
}

/* ---- OTLP ---- */

/* The text of a field that is a string. */
static void put_string(const void *answer, size_t n, u32 number, struct buf *text)
{
	struct pb_part b = { answer, n };
	struct pb_field f;

	while (pb_take(&b, &f) > 0)
		if (f.number == number && f.wire == 2) {
			buf_clear(text);
			buf_put(text, f.bytes.p, f.bytes.n);
		}
}

static void status_words(const void *answer, size_t n, struct buf *text)
{
	put_string(answer, n, 2, text);
	/* What stands between may answer in plain text. */
	if (!text->n)
		buf_put(text, answer, n);
	text->n = strcspn(buf_str(text), "\r\n");
}

static int otlp_taken(void *ctx, const void *answer, size_t n, struct error *err)
{
	const struct push_args *a = ctx;
	struct pb_part b = { answer, n }, in;
	struct buf text = BUF_INIT;
	struct pb_field f, g;
	u64 rejected = 0;
	int ret = 0;

	while (pb_take(&b, &f) > 0) {
		if (f.number != 1 || f.wire != 2)
			continue;
		for (in = f.bytes; pb_take(&in, &g) > 0;)
			if (g.number == 1 && g.wire == 0)
				rejected = g.value;
		put_string(f.bytes.p, f.bytes.n, 2, &text);
	}
	text.n = strcspn(buf_str(&text), "\r\n");
	if (rejected)
		ret = error_set(err, "the server rejects the profile%s%s", text.n ? ": " : "",
				buf_str(&text));
	else if (text.n && !a->draw.quiet)
		tell("the server says: %s", buf_str(&text));
	buf_release(&text);
	return ret;
}

/* What the profile is of, for the writer. */
static void make_resource(struct push_args *a, const char *space)
{
	size_t i;

	a->attributes.n = 0;
	for (i = 0; i < a->labels.n; i++)
		if (!space || strcmp(a->labels.v[i].name, "space"))
			vec_push(&a->attributes, ((struct render_fact){ a->labels.v[i].name,
									a->labels.v[i].value }));
	if (space)
		vec_push(&a->attributes, ((struct render_fact){ "space", space }));
	a->resource = (struct render_resource){
		.service = a->app,
		.labels = a->attributes.v,
		.nr_labels = a->attributes.n,
		.start_ns = MIN(a->from, MAX_SECONDS) * 1000000000,
		.length_ns = MIN(a->until - a->from, MAX_SECONDS) * 1000000000,
		.rate = a->rate,
	};
	a->draw.render.resource = &a->resource;
}

/* ---- sending ---- */

/* A pprof file -> Parca's request. */
static void parca_request(const struct push_args *a, struct buf *body)
{
	struct buf out = BUF_INIT;
	size_t i;

	buf_puts(&out, "{\"series\":[{\"labels\":{\"labels\":[{\"name\":\"__name__\",\"value\":");
	buf_json(&out, a->app, strlen(a->app));
	for (i = 0; i < a->resource.nr_labels; i++) {
		const struct render_fact *l = &a->resource.labels[i];

		buf_puts(&out, "},{\"name\":");
		buf_json(&out, l->key, strlen(l->key));
		buf_puts(&out, ",\"value\":");
		buf_json(&out, l->value, strlen(l->value));
	}
	buf_puts(&out, "}]},\"samples\":[{\"rawProfile\":\"");
	buf_base64(&out, body->p, body->n);
	buf_puts(&out, "\"}]}]}");
	buf_release(body);
	*body = out;
}

static int send_body(struct push_args *a, const char *space, struct buf *body, struct error *err)
{
	static const u16 otlp_retry[] = { 429, 502, 503, 504, 0 };
	struct buf url = BUF_INIT;
	struct host_push req;
	int ret;

	if (a->as == AS_OTLP && body->n > MAX_OTLP)
		return error_set(err, "%zu bytes are more than the %zu that OTLP's servers take",
				 body->n, MAX_OTLP);
	if (a->as == AS_PARCA)
		parca_request(a, body);
	req = (struct host_push){
		.content_type = kinds[a->as].content_type,
		.body = body->p,
		.n = body->n,
		.headers = a->headers,
		.ca_file = a->ca_file,
		.timeout_ms = (u32)(a->timeout * 1000),
		.retries = a->retries,
		.wait_ms = (u32)(a->retry_wait * 1000),
		.told = told,
		.ctx = a,
	};
	if (a->as == AS_OTLP) {
		req.gzip = true;
		req.retry = otlp_retry;
		req.words = status_words;
		req.taken = otlp_taken;
	}
	if (a->as == AS_PPROF || strpbrk(a->to, "?#"))
		buf_puts(&url, a->to);
	else if (a->as == AS_OTLP)
		put_address(a, "/v1development/profiles", "/profiles", &url);
	else if (a->as == AS_PARCA)
		put_address(a, "/api/profiles/writeraw", "/writeraw", &url);
	else
		ingest_url(a, space, &url);
	req.url = buf_str(&url);
	ret = host_push(&req, err);
	buf_release(&url);
	return ret;
}

/* One profile; with `space`, a part. */
static int send_view(struct push_args *a, struct run *r, const char *space, struct error *err)
{
	struct buf body = BUF_INIT;
	struct view view = { 0 };
	struct out out;
	int ret = -1;

	if (view_build(&view, &r->profile, &a->draw.view, err))
		return -1;
	if (!view.nodes.v[0].total) {
		/* A space without a sample is nothing to send. */
		ret = space ? 0 : error_set(err, "no stack passes the filters");
		goto out;
	}
	draw_note_limits(r, &(struct render_input){ .view = &view });
	if (a->as != AS_PYROSCOPE)
		make_resource(a, space);
	out_open_mem(&out, &body);
	if (draw_into(r, &a->draw, render_writer_by_name(kinds[a->as].writer),
		      &(struct render_input){ .profile = view.profile, .view = &view }, &out,
		      err)) {
		out_abort(&out);
		goto out;
	}
	if (!out_close(&out, err))
		ret = send_body(a, space, &body, err);
out:
	view_release(&view);
	buf_release(&body);
	return ret;
}

/* The profile with the own weight of one space's frames only, sent for each space. */
static int send_spaces(struct push_args *a, struct run *r, struct error *err)
{
	struct profile *p = &r->profile;
	u64 **saved = xcalloc(p->events.n, sizeof(*saved));
	int s, ret = 0;
	size_t i, k;

	for (i = 0; i < p->events.n; i++) {
		saved[i] = xcalloc(p->events.v[i].self.n, sizeof(u64));
		if (p->events.v[i].self.n)
			memcpy(saved[i], p->events.v[i].self.v,
			       p->events.v[i].self.n * sizeof(u64));
	}
	for (s = 0; s < SPACE_NR && !ret; s++) {
		char label[32], *c;

		for (i = 0; i < p->events.n; i++)
			for (k = 0; k < p->events.v[i].self.n; k++) {
				/* The root has no frame. */
				int space = k ? p->frames.v[p->nodes.v[k].frame].space : SPACE_NONE;

				p->events.v[i].self.v[k] = space == s ? saved[i][k] : 0;
			}
		snprintf(label, sizeof(label), "%s", space_name((enum space)s));
		for (c = label; *c; c++)
			if (*c == ' ')
				*c = '_';
		ret = send_view(a, r, label, err);
	}
	for (i = 0; i < p->events.n; i++) {
		if (p->events.v[i].self.n)
			memcpy(p->events.v[i].self.v, saved[i],
			       p->events.v[i].self.n * sizeof(u64));
		free(saved[i]);
	}
	free(saved);
	return ret;
}

/* ---- the verb ---- */

static int push(struct push_args *a, const char *path)
{
	struct error err = { "" };
	int ret = EXIT_FAILED;
	bool degraded = false;
	struct run run;
	size_t i;

	run_init(&run);
	if (run_read(&run, path, &a->draw.pipe, &err))
		goto out;
	if (run.two_columns) {
		error_set(&err, "'%s': is a comparison; a server takes one recording", path);
		goto out;
	}
	if ((a->as == AS_PYROSCOPE || a->as == AS_OTLP) && run.profile.weight_scale > 1) {
		error_set(&err,
			  "'%s': has weights with decimals, %s takes whole numbers of samples",
			  path, a->as == AS_OTLP ? "OTLP" : "Pyroscope");
		goto out;
	}
	a->draw.view.event = draw_pick_event(&run, &a->draw, &err);
	if (err.msg[0])
		goto out;
	run.profile.unit = draw_unit(&run, &a->draw, a->draw.view.event);
	if (make_times(a, &run, path, &err) || make_labels(a, &run, &err))
		goto out;
	if (a->as == AS_PPROF)
		/* A pprof file keeps what is said of it in its comments. */
		for (i = 0; i < a->labels.n; i++) {
			const struct label *l = &a->labels.v[i];

			if (strcmp(l->name, "host") && strcmp(l->name, "kernel"))
				vec_push(&run.facts, ((struct render_fact){ .key = l->name,
									    .value = l->value }));
		}
	make_rate(a, &run);
	if (a->split ? send_spaces(a, &run, &err) : send_view(a, &run, NULL, &err))
		goto out;
	ret = EXIT_DONE;
	degraded = a->draw.strict && quality_has_strict(&run);
out:
	if (!a->draw.quiet)
		quality_tell(&run, NULL);
	if (err.msg[0])
		tell("%s", err.msg);
	else if (degraded)
		tell("--strict: the warnings make this a failure; the server has the profile");
	if (ret == EXIT_DONE &&
	    (quality_gates_check(a->draw.gates, a->draw.nr_gates, &run) || degraded))
		ret = EXIT_FAILED;
	run_release(&run);
	return ret;
}

static int run_push(int argc, char **argv)
{
	static struct option_def all[MAX_OPTIONS];
	static struct push_args a = { .timeout = 30, .retry_wait = 1, .retries = 5 };
	const char *arg, *file;
	size_t i;
	int c, ret = EXIT_USAGE;

	options_join(all, own_options);
	arena_init(&a.arena);
	while ((c = options_next(argc, argv, all, &arg)) != -1) {
		if (options_answered(c, help)) {
			ret = EXIT_DONE;
			goto out;
		}
		if (c == '?' || take_own(&a, c, arg))
			goto out;
	}
	file = options_file(argc, argv);
	if (!file || !a.to || options_file(argc, argv)) {
		tell("usage: xenflame push --to=URL FILE ('xenflame push --help' says more)");
		goto out;
	}
	if (a.draw.output || a.draw.format || a.draw.open) {
		tell("push: --output, --format and --open have no meaning here");
		goto out;
	}
	if (!a.app)
		a.app = a.as == AS_PYROSCOPE ? "xenflame.cpu" : "xenflame";
	for (i = 0; i < a.nr_given; i++)
		if ((a.as == AS_PYROSCOPE || a.as == AS_PARCA) && strchr(a.given[i].name, '.')) {
			tell("--label=%s: Pyroscope and Parca take no label with a '.'",
			     a.given[i].name);
			goto out;
		}
	if (a.as == AS_PYROSCOPE && (strpbrk(a.to, "?#") || a.draw.pipe.weight_period ||
				     (a.draw.event && !strcmp(a.draw.event, "all")))) {
		tell("push: Pyroscope takes samples of one event at an address without '?': no "
		     "--weight=period or --event=all");
		goto out;
	}
	if (a.as == AS_PPROF && a.split) {
		tell("push: --split is not for pprof; in a pprof file each sample has the "
		     "label "
		     "space");
		goto out;
	}
	if (host_push_available()) {
		ret = push(&a, file);
	} else {
		tell("push: this build is without libcurl; install its development package and "
		     "configure again");
		ret = EXIT_FAILED;
	}
out:
	vec_release(&a.labels);
	vec_release(&a.attributes);
	arena_release(&a.arena);
	return ret;
}

const struct verb verb_push = {
	.name = "push",
	.help = "a recording's stacks to a server for many hosts",
	.run = run_push,
};
