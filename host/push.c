/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One POST, tried again where trying helps.
 *
 * What helps is decided by RFC 9110: 408, 429 and 5xx other than 501 and 505 may pass, any other
 * answer is the server's last word; so may a server that is not there or does not answer in time.
 * A certificate that is not trusted never passes.
 */
#include "host/host.h"

#ifdef HAVE_LIBCURL
#include <curl/curl.h>
#include <errno.h>
#include <sys/random.h>
#include <time.h>
#include <zlib.h>

#define MAX_ANSWER  65536
#define MAX_WAIT_MS 60000
#define CONNECT_MS  10000

#define CURL_FUNCTIONS(F)        \
	F(curl_, easy_cleanup)   \
	F(curl_, easy_getinfo)   \
	F(curl_, easy_init)      \
	F(curl_, easy_perform)   \
	F(curl_, easy_setopt)    \
	F(curl_, easy_strerror)  \
	F(curl_, free)           \
	F(curl_, global_init)    \
	F(curl_, slist_append)   \
	F(curl_, slist_free_all) \
	F(curl_, url)            \
	F(curl_, url_cleanup)    \
	F(curl_, url_get)        \
	F(curl_, url_set)
LIBRARY(curl, SONAME_LIBCURL, "sending", CURL_FUNCTIONS);

struct push {
	const struct host_push *req;
	CURL *curl;
	struct curl_slist *headers;
	struct buf answer, packed;
	char *where; /* the address without user and password, for messages */
	char detail[CURL_ERROR_SIZE];
};

bool host_push_available(void)
{
	return true;
}

static size_t take_answer(char *p, size_t size, size_t n, void *ctx)
{
	struct push *h = ctx;
	size_t room = MAX_ANSWER - h->answer.n;

	buf_put(&h->answer, p, MIN(room, size * n));
	return size * n;
}

/* Sends secrets nowhere but to the server named: http and https only, and no address without a
 * host. */
static int check_url(struct push *h, struct error *err)
{
	CURLU *u = curl.url();
	char *scheme = NULL, *text = NULL;
	int ret = -1;

	if (!u || curl.url_set(u, CURLUPART_URL, h->req->url, 0) ||
	    curl.url_get(u, CURLUPART_SCHEME, &scheme, 0) ||
	    (strcmp(scheme, "http") && strcmp(scheme, "https"))) {
		/* Not repeated: it may hold a password. */
		error_set(err, "the address is not one that begins with http:// or https://");
		goto out;
	}
	curl.url_set(u, CURLUPART_USER, NULL, 0);
	curl.url_set(u, CURLUPART_PASSWORD, NULL, 0);
	curl.url_set(u, CURLUPART_QUERY, NULL, 0);
	curl.url_set(u, CURLUPART_FRAGMENT, NULL, 0);
	if (curl.url_get(u, CURLUPART_URL, &text, 0)) {
		error_set(err, "the address cannot be used");
		goto out;
	}
	h->where = xstrdup(text);
	ret = 0;
out:
	curl.free(scheme);
	curl.free(text);
	curl.url_cleanup(u);
	return ret;
}

static int add_header(struct push *h, const char *text)
{
	struct curl_slist *l = curl.slist_append(h->headers, text);

	if (!l)
		return -1;
	h->headers = l;
	return 0;
}

static int pack(struct push *h, struct error *err)
{
	z_stream z = { .next_in = (Bytef *)(uintptr_t)h->req->body };
	int rc;

	if (h->req->n > UINT32_MAX || deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16,
						   8, Z_DEFAULT_STRATEGY) != Z_OK)
		return error_set(err, "the body cannot be packed");
	z.avail_in = (uInt)h->req->n;
	buf_reserve(&h->packed, deflateBound(&z, (uLong)h->req->n));
	z.next_out = (Bytef *)h->packed.p;
	z.avail_out = (uInt)MIN(h->packed.cap, (size_t)UINT32_MAX);
	rc = deflate(&z, Z_FINISH);
	h->packed.n = z.total_out;
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : error_set(err, "the body cannot be packed");
}

static int set_up(struct push *h, struct error *err)
{
	const struct host_push *r = h->req;
	char *type = xasprintf("Content-Type: %s", r->content_type);
	CURL *c = h->curl;
	bool bad = false;
	size_t i;

	/* A large body is to be sent at once, not after a second's wait for a word from the server.
	 */
	bad |= add_header(h, type) || add_header(h, "Expect:");
	bad |= r->gzip && add_header(h, "Content-Encoding: gzip");
	for (i = 0; r->headers && r->headers[i]; i++)
		bad |= add_header(h, r->headers[i]) != 0;
	free(type);
	bad |= curl.easy_setopt(c, CURLOPT_URL, r->url) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_POST, 1L) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_POSTFIELDS,
				r->gzip ? h->packed.p : (const char *)r->body) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE,
				(curl_off_t)(r->gzip ? h->packed.n : r->n)) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_HTTPHEADER, h->headers) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_USERAGENT, PACKAGE_NAME "/" PACKAGE_VERSION) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)r->timeout_ms) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT_MS,
				(long)MIN(r->timeout_ms, (u32)CONNECT_MS)) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_answer) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_WRITEDATA, h) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_ERRORBUFFER, h->detail) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_SSL_VERIFYPEER, 1L) != CURLE_OK;
	bad |= curl.easy_setopt(c, CURLOPT_SSL_VERIFYHOST, 2L) != CURLE_OK;
	if (bad)
		return error_set(err, "libcurl cannot be set up");
	if (r->ca_file && curl.easy_setopt(c, CURLOPT_CAINFO, r->ca_file) != CURLE_OK)
		return error_set(err, "this libcurl cannot take certificates from a file");
	return 0;
}

static bool may_pass(const struct push *h, long code)
{
	const u16 *c;

	if (!h->req->retry)
		return code == 408 || code == 429 || (code >= 500 && code != 501 && code != 505);
	for (c = h->req->retry; *c; c++)
		if (*c == code)
			return true;
	return false;
}

/* 1: done, 0: trying again may help (*wait_ms: what the server asks for), -1: no. The reason is in
 * err unless done. */
static int try_once(struct push *h, u32 *wait_ms, struct error *err)
{
	struct buf words = BUF_INIT;
	curl_off_t after = 0;
	CURLcode rc;
	long code = 0;

	*wait_ms = 0;
	buf_clear(&h->answer);
	h->detail[0] = '\0';
	rc = curl.easy_perform(h->curl);
	if (rc != CURLE_OK) {
		error_set(err, "'%s': %s", h->where,
			  h->detail[0] ? h->detail : curl.easy_strerror(rc));
		switch (rc) {
		case CURLE_COULDNT_RESOLVE_HOST:
		case CURLE_COULDNT_RESOLVE_PROXY:
		case CURLE_COULDNT_CONNECT:
		case CURLE_OPERATION_TIMEDOUT:
		case CURLE_SEND_ERROR:
		case CURLE_RECV_ERROR:
		case CURLE_GOT_NOTHING:
		case CURLE_PARTIAL_FILE: return 0;
		default: return -1;
		}
	}
	curl.easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &code);
	if (code >= 200 && code < 300)
		return h->req->taken && h->req->taken(h->req->ctx, h->answer.p, h->answer.n, err)
			       ? -1
			       : 1;
	if (h->req->words)
		h->req->words(h->answer.p, h->answer.n, &words);
	else
		buf_put(&words, h->answer.p, strcspn(buf_str(&h->answer), "\r\n"));
	error_set(err, "'%s': the server answers %ld%s%.*s", h->where, code, words.n ? ": " : "",
		  (int)MIN(words.n, (size_t)200), buf_str(&words));
	buf_release(&words);
	if (!may_pass(h, code))
		return -1;
	if (curl.easy_getinfo(h->curl, CURLINFO_RETRY_AFTER, &after) == CURLE_OK && after > 0)
		*wait_ms = (u32)MIN(after, (curl_off_t)(MAX_WAIT_MS / 1000)) * 1000;
	return 0;
}

/* Many hosts that lost one server must not come back at the same moment: each waits for a random
 * part more. */
static u32 back_off(u32 first, u32 nr)
{
	u64 wait = (u64)first << MIN(nr, 16u);
	u16 r = 0;

	wait = MIN(wait, (u64)MAX_WAIT_MS);
	if (getrandom(&r, sizeof(r), GRND_NONBLOCK) != sizeof(r))
		r = 0;
	return (u32)(wait / 2 + (wait - wait / 2) * r / UINT16_MAX);
}

static void sleep_ms(u32 ms)
{
	struct timespec t = { ms / 1000, (long)(ms % 1000) * 1000000 };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

int host_push(const struct host_push *req, struct error *err)
{
	struct push h = { .req = req };
	struct error why;
	u32 nr, wait, asked;
	int ret = -1, rc;

	if (library_open(&curl_library, err))
		return -1;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) || !(h.curl = curl.easy_init())) {
		error_set(err, "libcurl cannot be started");
		goto out;
	}
	if (check_url(&h, err) || (req->gzip && pack(&h, err)) || set_up(&h, err))
		goto out;
	for (nr = 0;; nr++) {
		why.msg[0] = '\0';
		rc = try_once(&h, &asked, &why);
		if (rc > 0) {
			ret = 0;
			break;
		}
		if (rc < 0 || nr == req->retries) {
			if (nr)
				error_set(err, "%s; given up after %u tries", why.msg, nr + 1);
			else
				error_set(err, "%s", why.msg);
			break;
		}
		wait = MAX(back_off(req->wait_ms, nr), asked);
		if (req->told)
			req->told(req->ctx, why.msg, wait);
		sleep_ms(wait);
	}
out:
	curl.slist_free_all(h.headers);
	curl.easy_cleanup(h.curl);
	buf_release(&h.answer);
	buf_release(&h.packed);
	free(h.where);
	return ret;
}

#else

bool host_push_available(void)
{
	return false;
}

int host_push(const struct host_push *req, struct error *err)
{
	(void)req;
	return error_set(err, "this build is without libcurl, which sending needs");
}

#endif
