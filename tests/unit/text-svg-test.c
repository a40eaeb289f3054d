/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flame graphs of three programs, read back. */
#include "tap.h"
#include "text-dump.h"

static u64 notes;

static const char *read_svg(const char *text, int what)
{
	return dump_text(text, NULL, what, &notes);
}

#define HEAD                                                                                     \
	"<?xml version=\"1.0\" standalone=\"no\"?>\n"                                            \
	"<!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG 1.1//EN\" "                                      \
	"\"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">\n"                                \
	"<svg version=\"1.1\" width=\"1200\" height=\"342\" onload=\"init(evt)\" viewBox=\"0 0 " \
	"1200 342\" "                                                                            \
	"xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\">\n"

#ifdef HAVE_LIBXML2

/* flamegraph.pl: places in pixels, root below; a function with a link; a name that looks like a
 * title. */
static void test_flamegraph_pl(void)
{
	static const char text[] = HEAD
		"<rect x=\"0.0\" y=\"0\" width=\"1200.0\" height=\"342.0\" "
		"fill=\"url(#background)\"  />\n"
		"<text id=\"title\" x=\"600.00\" y=\"24\" >Flame Graph</text>\n"
		"<g id=\"frames\">\n"
		"<g >\n<title>all (1,020 samples, 100%)</title><rect x=\"10.0\" y=\"293\" "
		"width=\"1180.0\" height=\"15.0\" fill=\"rgb(1,2,3)\" rx=\"2\" ry=\"2\" />\n"
		"<text  x=\"13.00\" y=\"303.5\" ></text>\n</g>\n"
		"<g >\n<title>f&lt;int&gt; &amp; (x) (1,000 samples, 98.04%)</title><rect "
		"x=\"33.1\" y=\"261\" width=\"1156.9\" height=\"15.0\" fill=\"rgb(1,2,3)\" "
		"/>\n</g>\n"
		"<g >\n<title>my comm (1,000 samples, 98.04%)</title><rect x=\"33.1\" y=\"277\" "
		"width=\"1156.9\" height=\"15.0\" fill=\"rgb(1,2,3)\" />\n</g>\n"
		"<a xlink:href=\"x\" ><title>g (400 samples, 39.22%)</title><rect x=\"33.1\" "
		"y=\"245\" width=\"462.8\" height=\"15.0\" fill=\"rgb(1,2,3)\" />\n</a>\n"
		"<g >\n<title>h (600 samples, 58.82%)</title><rect x=\"495.9\" y=\"245\" "
		"width=\"694.1\" height=\"15.0\" fill=\"rgb(1,2,3)\" />\n</g>\n"
		"<g >\n<title>other (15 samples, 1.47%)</title><rect x=\"10.0\" y=\"277\" "
		"width=\"17.3\" height=\"15.0\" fill=\"rgb(1,2,3)\" />\n</g>\n"
		"</g>\n</svg>\n";

	STR_EQ(read_svg(text, 0),
	       "all 5\nother 15\nmy comm;f<int> & (x);g 400\nmy comm;f<int> & (x);h 600\n");
	EQ(notes, 1);
}

/* --inverted: the root is above. */
static void test_icicle(void)
{
	static const char text[] = HEAD "<g ><title>all (10 cycles, 100%)</title><rect x=\"10\" "
					"y=\"49\" width=\"1180\" height=\"15.0\" /></g>\n"
					"<g ><title>a (10 cycles, 100%)</title><rect x=\"10\" "
					"y=\"65\" width=\"1180\" height=\"15.0\" /></g>\n"
					"<g ><title>b_[k] (7 cycles, 70.00%)</title><rect x=\"10\" "
					"y=\"81\" width=\"826\" height=\"15.0\" /></g>\n"
					"</svg>\n";
	static const char level[] = HEAD "<g ><title>all (10 cycles, 100%)</title><rect x=\"10\" "
					 "y=\"49\" width=\"1180\" height=\"15.0\" /></g>\n"
					 "<g ><title>a (10 cycles, 100%)</title><rect x=\"10\" "
					 "y=\"65\" width=\"1180\" height=\"15.0\" /></g>\n"
					 "<g ><title>b (7 cycles, 70.00%)</title><rect x=\"10\" "
					 "y=\"81\" width=\"826\" height=\"15.0\" /></g>\n"
					 "<g ><title>c (3 cycles, 30.00%)</title><rect x=\"836\" "
					 "y=\"81\" width=\"354\" height=\"15.0\" /></g>\n"
					 "</svg>\n";

	STR_EQ(read_svg(text, DUMP_ALL | DUMP_EVENT),
	       "cycles;a{none root} 3\ncycles;a{none root};b{kernel} 7\n");
	/* All stacks are of one depth: the row of the leaves is as wide as the root. */
	STR_EQ(read_svg(level, 0), "a;b 7\na;c 3\n");
}

/* inferno: percentages, exact places in samples. */
static void test_inferno(void)
{
	static const char text[] =
		"<?xml version=\"1.0\" standalone=\"no\"?><!DOCTYPE svg PUBLIC \"-//W3C//DTD SVG "
		"1.1//EN\" \"http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd\">"
		"<svg version=\"1.1\" width=\"1200\" height=\"118\" onload=\"init(evt)\" "
		"viewBox=\"0 0 1200 118\" xmlns=\"http://www.w3.org/2000/svg\" "
		"xmlns:fg=\"http://github.com/jonhoo/inferno\">"
		"<svg id=\"frames\" x=\"10\" width=\"1180\" total_samples=\"3000000\">"
		"<g><title>x (1 samples, 0.00%)</title><rect x=\"0.0000%\" y=\"53\" "
		"width=\"0.0000%\" height=\"15\" fill=\"rgb(1,2,3)\" fg:x=\"0\" fg:w=\"1\"/><text "
		"x=\"0.2500%\" y=\"63.50\"></text></g>"
		"<g><title>y (2 samples, 0.00%)</title><rect x=\"0.0000%\" y=\"53\" "
		"width=\"0.0001%\" height=\"15\" fill=\"rgb(1,2,3)\" fg:x=\"1\" fg:w=\"2\"/></g>"
		"<g><title>c (2,999,999 samples, 100.00%)</title><rect x=\"0.0000%\" y=\"69\" "
		"width=\"99.9999%\" height=\"15\" fg:x=\"0\" fg:w=\"2999999\"/></g>"
		"<g><title>d (1 samples, 0.00%)</title><rect x=\"99.9999%\" y=\"69\" "
		"width=\"0.0000%\" height=\"15\" fg:x=\"2999999\" fg:w=\"1\"/></g>"
		"<g><title>z (1 samples, 0.00%)</title><rect x=\"99.9999%\" y=\"53\" "
		"width=\"0.0000%\" height=\"15\" fg:x=\"2999999\" fg:w=\"1\"/></g>"
		"<g><title>all (3,000,000 samples, 100%)</title><rect x=\"0.0000%\" y=\"85\" "
		"width=\"100.0000%\" height=\"15\" fg:x=\"0\" fg:w=\"3000000\"/></g>"
		"</svg></svg>";

	STR_EQ(read_svg(text, 0), "c 2999996\nc;x 1\nc;y 2\nd;z 1\n");
}

/* The unit is the same where the first box has one of it. */
static void test_one_sample(void)
{
	static const char text[] = HEAD "<g ><title>b (1 sample, 50%)</title><rect x=\"10\" "
					"y=\"49\" width=\"590\" height=\"15.0\" /></g>\n"
					"<g ><title>c (1 sample, 50%)</title><rect x=\"600\" "
					"y=\"49\" width=\"590\" height=\"15.0\" /></g>\n"
					"<g ><title>all (2 samples, 100%)</title><rect x=\"10\" "
					"y=\"65\" width=\"1180\" height=\"15.0\" /></g>\n"
					"</svg>\n";

	STR_EQ(read_svg(text, DUMP_ALL | DUMP_EVENT),
	       "samples;b{none root} 1\nsamples;c{none root} 1\n");
}

/* What is missing on the root is of stacks that were too narrow to draw. */
static void test_narrow(void)
{
	static const char text[] = HEAD "<g ><title>b (7 samples, 70%)</title><rect x=\"10\" "
					"y=\"49\" width=\"826\" height=\"15.0\" /></g>\n"
					"<g ><title>all (10 samples, 100%)</title><rect x=\"10\" "
					"y=\"65\" width=\"1180\" height=\"15.0\" /></g>\n"
					"</svg>\n";

	STR_EQ(read_svg(text, 0), "all 3\nb 7\n");
}

/* The first flamegraph.pl. */
static void test_mouseover(void)
{
	static const char text[] = HEAD
		"<rect x=\"10.0\" y=\"85\" width=\"1180.0\" height=\"15.0\" fill=\"rgb(1,2,3)\" "
		"onmouseover=\"s('all (10 samples, 100%)')\" onmouseout=\"c()\" />\n"
		"<g class=\"func_g\" onmouseover=\"s('it\\'s &amp; (4 samples, 40.00%)')\" "
		"onmouseout=\"c()\">\n"
		"<rect x=\"10.0\" y=\"69\" width=\"472.0\" height=\"15.0\" />\n<text "
		"x=\"3\">it</text></g>\n"
		"</svg>\n";

	STR_EQ(read_svg(text, 0), "all 6\nit's & 4\n");
}

static void test_hostile(void)
{
	const char *got;

	/* No entities, no files, no network. */
	got = read_svg("<?xml version=\"1.0\"?><!DOCTYPE svg [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b "
		       "\"&a;&a;&a;\">"
		       "<!ENTITY x SYSTEM \"file:///etc/passwd\">]>\n"
		       "<svg><g><title>&x;&b; (1 samples, 100%)</title><rect x=\"0\" y=\"0\" "
		       "width=\"1\"/></g></svg>",
		       0);
	OK(strstr(got, "root:") == NULL && strstr(got, "aaaa") == NULL);
	/* Cut short: what was there, then the error. */
	got = read_svg(HEAD
		       "<g><title>all (10 s, 100%)</title><rect x=\"0\" y=\"20\" width=\"10\"/></g>"
		       "<g><title>a (10 s, 100%)</title><rect x=\"0\" y=\"4\" "
		       "width=\"10\"/></g><g><title>b",
		       0);
	OK(!strncmp(got, "a 10\nerror: ", 12));
	OK(strstr(got, "not well-formed") != NULL);
	got = read_svg("<svg xmlns=\"http://www.w3.org/2000/svg\"><rect x=\"1\"/></svg>", 0);
	OK(strstr(got, "no flame graph in this SVG") != NULL);
	/* Numbers that are none. */
	got = read_svg(
		"<svg><g><title>a (1 s, 1%)</title><rect x=\"nan\" y=\"0\" width=\"1\"/></g>"
		"<g><title>b (99999999999999999999 s, 1%)</title><rect x=\"0\" y=\"0\" "
		"width=\"1\"/></g>"
		"<g><title>c ( s, 1%)</title><rect x=\"0\" y=\"0\" width=\"1\"/></g>"
		"<g><title>d (3 s, 1%)</title><rect x=\"0\" y=\"1e308\" width=\"1\"/></g>"
		"<g><title>e (4 s, 1%)</title><rect x=\"0\" y=\"0\" width=\"1e308\"/></g></svg>",
		0);
	STR_EQ(got, "e 1\ne;d 3\n");
}
#endif

/* What it makes of a block of one frame named "" and these strings and nodes. */
static const char *read_block(const char *version, const char *strings, const char *name,
			      const char *nodes)
{
	static struct buf b;

	buf_clear(&b);
	buf_printf(&b,
		   "<svg><script id=\"xenflame-data\">{\"version\":%s,\"strings\":%s,"
		   "\"spaces\":[\"user\"],\"frames\":{\"name\":[\"%s\"],\"suffix\":[\"A\"],"
		   "\"module\":[\"A\"],\"file\":[\"A\"],\"line\":[\"A\"],\"space\":[\"A\"],"
		   "\"flags\":[\"A\"]},\"nodes\":%s}</script></svg>",
		   version, strings, name, nodes);
	return read_svg(buf_str(&b), 0);
}

/* Our data block, as render/data.c describes it. */
static void test_data(void)
{
	static const char text[] =
		"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\">\n"
		"<script id=\"xenflame-data\" "
		"type=\"application/json\">{\"format\":\"xenflame\",\"version\":2,\n"
		"\"title\":\"a \\\"quoted\\\" "
		"{[\",\"total\":\"18446744073709551615\",\"unit\":\"samples\",\"event\":\"cycles\","
		"\n"
		"\"spaces\":[\"user\",\"kernel\",\"hypervisor\",\"none\"],\n"
		"\"strings\":[\"\",\"busy\",\"f\\u003cint\\u003e\",\"\\ud83d\\ude00\",\"_[h]\","
		"\"k]\",\"xen-syms\",\"a.c\"],\"shared\":[\"AAAAACAA\"],\n"
		"\"extra\":[{\"x\":[1,2,\"]\"]},null,true,-1.5e3],\n"
		"\"frames\":{\"name\":[\"BBB\"],\"suffix\":[\"AEF\"],\"module\":[\"AGA\"],"
		"\"file\":[\"AHA\"],\"line\":[\"AMA\",\"ABA\"],"
		"\"space\":[\"DCB\"],\"flags\":[\"gBC\"],\"color\":[\"AAA\"]},\n"
		"\"nodes\":{\"run\":[\"BAA\"],\"up\":[\"ABA\"],\"callee\":[\"B\"],\"more\":[\"\"],"
		"\"fresh\":[\"ABC\"],\"self_leaf\":[\"C6E\",\"A/A\",\"A/A\",\"A/A\",\"A/A\","
		"\"A/A\",\"A/A\",\"A/A\",\"A/A\",\"A/A\",\"APA\"],"
		"\"self_inner\":[\"B\"],\"self_gap\":[\"B\"]}}\n"
		"</script></svg>\n";
	static const char one[] = "[\"\"],\"shared\":[\"A\"]";
	const struct {
		const char *version, *strings, *name, *nodes, *error;
	} damage[] = {
		{ "1", one, "A", "{}", "of version 1, this program reads version 2" },
		{ "2", one, "AA", "{}", "columns differ" },
		{ "2", one, "H", "{}", "damaged: frame 0" },
		{ "2", "[\"\"],\"shared\":[\"B\"]", "A", "{}", "damaged: string 0" },
		{ "2", "[\"\"]", "A", "{}", "damaged: string 0" },
		{ "2", one, "A",
		  "{\"run\":[\"A\"],\"up\":[\"A\"],\"fresh\":[\"B\"],\"self_leaf\":[\"B\"]}",
		  "damaged: node 1" },
		/* A second call of a frame that no item of callee stands for. */
		{ "2", one, "A",
		  "{\"run\":[\"AA\"],\"up\":[\"AA\"],\"fresh\":[\"A\"],\"self_leaf\":[\"BB\"]}",
		  "damaged: node 2" },
		{ "2", one, "A",
		  "{\"run\":[\"AA\"],\"up\":[\"AA\"],\"callee\":[\"4\"],\"fresh\":[\"A\"],"
		  "\"self_leaf\":[\"BB\"]}",
		  "damaged: node 2" },
		{ "2", one, "A",
		  "{\"run\":[\"A\"],\"up\":[\"B\"],\"fresh\":[\"A\"],\"self_leaf\":[\"B\"]}",
		  "damaged: chain 0" },
		{ "2", one, "A",
		  "{\"run\":[\"A\"],\"up\":[\"A\"],\"fresh\":[\"A\"],\"self_leaf\":[\"B\"],"
		  "\"self_inner\":[\"B\"],\"self_gap\":[\"C\"]}",
		  "damaged: weight 0" },
		/* More digits than 64 bits hold, planes of two lengths, no digit. */
		{ "2", one, "A\",\"A\",\"A\",\"A\",\"A\",\"A\",\"A\",\"A\",\"A\",\"A\",\"Q", "{}",
		  "data block damaged at its offset" },
		{ "2", one, "A\",\"AA", "{}", "data block damaged at its offset" },
		{ "2", one, "!", "{}", "data block damaged at its offset" },
	};
	const char *got;
	size_t i;

	STR_EQ(read_svg(text, DUMP_ALL | DUMP_EVENT),
	       "cycles;busy{none root} 1\n"
	       "cycles;busy{none root};f<int>{hypervisor (xen-syms) a.c:76 inlined} 2\n"
	       "cycles;busy{none root};\xf0\x9f\x98\x80{kernel unknown} 18446744073709551610\n"
	       "cycles;busy{none root} 4\n");
	EQ(notes, 0);
	/* Damage of each kind is an error, not a crash. */
	for (i = 0; i < ARRAY_SIZE(damage); i++) {
		got = read_block(damage[i].version, damage[i].strings, damage[i].name,
				 damage[i].nodes);
		if (!OK(strstr(got, damage[i].error) != NULL))
			printf("# %zu: %s, expected %s\n", i, got, damage[i].error);
	}
	/* Without damage, the same is read. */
	STR_EQ(read_block("2", one, "A",
			  "{\"run\":[\"A\"],\"up\":[\"A\"],\"fresh\":[\"A\"],"
			  "\"self_leaf\":[\"B\"]}"),
	       "[unknown] 1\n");
	got = read_svg("<svg><script id=\"xenflame-data\">{\"strings\":[\"</script></svg>", 0);
	OK(strstr(got, "data block damaged at its offset") != NULL);
	got = read_svg("<svg><script id=\"xenflame-data\" "
		       "data-encoding=\"gzip+base85\">"
		       "./dH,!!!!!!!G=)1X56J@9p+x1XIDHiMTZ8`@SFZ]]fHO</script></svg>",
		       0);
	OK(strstr(got, "data block damaged") != NULL);
}

int main(void)
{
#ifdef HAVE_LIBXML2
	test_flamegraph_pl();
	test_icicle();
	test_inferno();
	test_one_sample();
	test_narrow();
	test_mouseover();
	test_hostile();
#endif
	test_data();
	return tap_done();
}
