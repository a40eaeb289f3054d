/* SPDX-License-Identifier: GPL-2.0-or-later */
/* perf script text, line by line. */
#include "tap.h"
#include "text-dump.h"

#define T DUMP_TASK
#define A DUMP_ALL
#define E DUMP_EVENT
#define P DUMP_PERIOD

static struct dump_sums sums;

/* Whole pieces, small pieces and threads must say the same. */
static const char *read_text(const char *text, int what)
{
	static const struct perf_opts ways[] = {
		{ .format = "perf-script", .threads = 1 },
		{ .format = "perf-script", .threads = 1, .piece = 40 },
		{ .format = "perf-script", .threads = 3, .piece = 100 },
		{ .format = "perf-script", .threads = 1, .stacks_once = true },
		{ .format = "perf-script", .threads = 3, .piece = 100, .stacks_once = true },
		{ .format = "perf-script", .threads = 1, .portable = true },
	};
	static struct buf first;
	struct buf b = BUF_INIT;
	struct error err = { "" };
	struct diag diag;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		diag_init(&diag);
		buf_clear(i ? &b : &first);
		if (dump_memory(text, strlen(text), &ways[i], what, i ? &b : &first, &sums, &diag,
				&err))
			printf("# %s\n", err.msg);
		diag_release(&diag);
		if (i)
			STR_EQ(buf_str(&b), buf_str(&first));
	}
	buf_release(&b);
	return buf_str(&first);
}

static void test_heads(void)
{
	/* Fields in all combinations that perf prints. */
	STR_EQ(read_text("busy 30387  7707.645879:    1003009 cpu-clock: \n\t  1326 f+0x26 "
			 "(/bin/x)\n\n",
			 T | E | P),
	       "cpu-clock;-1/30387;[-1];7707645879000;busy;f 1003009\n");
	STR_EQ(read_text("busy 1/2 [003] 7.000000001: 5 cycles:ppp: \n\t  1326 f (/bin/x)\n\n",
			 T | E | P),
	       "cycles:ppp;1/2;[3];7000000001;busy;f 5\n");
	STR_EQ(read_text("busy     9/9     198791.127353: cpu-clock: \n\t  1326 f (/bin/x)\n\n",
			 T | E),
	       "cpu-clock;9/9;[-1];198791127353000;busy;f 1\n");
	STR_EQ(read_text("825432/825432 339457.445933440:       1 cycles:u: \n\t 1 f (x)\n", T | E),
	       "cycles:u;825432/825432;[-1];339457445933440;f 1\n");
	STR_EQ(read_text("30387  7707.645879:    1003009 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/30387;[-1];7707645879000;f 1003009\n");
	STR_EQ(read_text("busy 30393    1000000 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/30393;[-1];-1;busy;f 1000000\n");
	STR_EQ(read_text("busy 30393 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/30393;[-1];-1;busy;f 1\n");
	STR_EQ(read_text("busy  7707.645879:    1003009 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/-1;[-1];7707645879000;busy;f 1003009\n");
	STR_EQ(read_text("busy 30399 \n\t 1 f (x)\n", T | E),
	       "samples;-1/30399;[-1];-1;busy;f 1\n");
	STR_EQ(read_text("busy  cycles: \n\t 1 f (x)\n\nmy comm   cache-misses:u: \n\t 1 f (x)\n",
			 T | E),
	       "cycles;-1/-1;[-1];-1;busy;f 1\ncache-misses:u;-1/-1;[-1];-1;my comm;f 1\n");
	STR_EQ(read_text("busy \n\t 1 f (x)\n\nlazy \n\t 1 f (x)\n", T),
	       "-1/-1;[-1];-1;busy;f 1\n-1/-1;[-1];-1;lazy;f 1\n");
	STR_EQ(read_text("cxx 30474 U      7741.315925:    3367003 cpu-clock: \n\t 1 f (x)\n",
			 T | P),
	       "-1/30474;[-1];7741315925000;cxx;f 3367003\n");
	STR_EQ(read_text("cxx 30474 [001] K  7741.315925:  33 cpu-clock: \n\t 1 f (x)\n", T | P),
	       "-1/30474;[1];7741315925000;cxx;f 33\n");
	STR_EQ(read_text("cxx 3 2026-11-29 17:00:01.123456 7741.315925:  33 cpu-clock: \n\t 1 f "
			 "(x)\n",
			 T | P),
	       "-1/3;[-1];7741315925000;cxx;f 33\n");
	STR_EQ(read_text("swapper -1/-1 [000] 1.5: 2 cycles: \n\t 1 f (x)\n", T),
	       "-1/-1;[0];1500000000;swapper;f 1\n");
	/* A number is a period where it is set in ten columns. */
	STR_EQ(read_text("busy_fp    1003009 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/-1;[-1];-1;busy_fp;f 1003009\n");
	STR_EQ(read_text("busy_fp    1003009 \n\t 1 f (x)\n", T | P),
	       "-1/-1;[-1];-1;busy_fp;f 1003009\n");
	STR_EQ(read_text("   1003009 cpu-clock: \n\t 1 f (x)\n", T | E | P),
	       "cpu-clock;-1/-1;[-1];-1;f 1003009\n");
	STR_EQ(read_text("   1003009 \n\t 1 f (x)\n", T | P), "-1/-1;[-1];-1;f 1003009\n");
	STR_EQ(read_text("30387 \n\t 1 f (x)\n", T | P), "-1/30387;[-1];-1;f 1\n");
	STR_EQ(read_text(" 7707.645879: \n\t 1 f (x)\n", T), "-1/-1;[-1];7707645879000;f 1\n");
	STR_EQ(read_text(" 7707.645879: cpu-clock: \n\t 1 f (x)\n", T | E),
	       "cpu-clock;-1/-1;[-1];7707645879000;f 1\n");
	STR_EQ(read_text("cpu-clock: \n\t 1 f (x)\n", E), "cpu-clock;f 1\n");
	/* Comms with anything in them. */
	STR_EQ(read_text("wrk: 7/3 [x] 1 30476  7741.322675:    3367003 cpu-clock: \n\t 1 f (x)\n",
			 T),
	       "-1/30476;[-1];7741322675000;wrk: 7/3 [x] 1;f 1\n");
	STR_EQ(read_text("1 1.000000: 44 3.000000: 250 cycles: \n\t 1 f (x)\n", T | P | E),
	       "cycles;-1/44;[-1];3000000000;1 1.000000:;f 250\n");
	STR_EQ(read_text("a;b 12 [000] 3.000000: 250 cycles: \n\t 1 f (x)\n", T),
	       "-1/12;[0];3000000000;a;b;f 1\n");
	STR_EQ(read_text("#\n#     0          2 samples: \n\t 1 f (x)\n\n# y 12 3.000000: 250 "
			 "cycles: \n",
			 T),
	       "-1/0;[-1];-1;#;f 1\n");
	STR_EQ(read_text("# y 12 3.000000: 250 cycles:\n#\n\t 1 f (x)\n", 0), "f 1\n");
	STR_EQ(read_text("#x 12 3.000000: 250 cycles: \n\t 1 f (x)\n", T),
	       "-1/12;[-1];3000000000;#x;f 1\n");
	/* Events. */
	STR_EQ(read_text("a 1 1.000000: cpu_core/cycles:Pu/: \n\t 1 f (x)\n", E),
	       "cpu_core/cycles:Pu/;a;f 1\n");
	STR_EQ(read_text("a 1 1.000000: 7 cpu/mem-loads,ldlat=30/P: \n\t 1 f (x)\n", E),
	       "cpu/mem-loads,ldlat=30/P;a;f 1\n");
	STR_EQ(read_text("a 1 1.000000: sched:sched_switch: prev_comm=x prev_pid=1 ==> next_comm=y "
			 "2 3.000000: z\n"
			 "\t 1 f (x)\n",
			 E),
	       "sched:sched_switch;a;f 1\n");
	STR_EQ(read_text("a 1 1.000000: probe:main: (55) dead beef\n\n", E), "probe:main;a 1\n");
	STR_EQ(read_text("a 1 1.000000: 7 my event: \n\t 1 f (x)\n", E), "my event;a;f 1\n");
	/* Guests. */
	STR_EQ(read_text("VM:  123 VCPU:001 a 1 1.000000: 7 cycles: \n\t ffffffff81000001 f "
			 "([guest.kernel.kallsyms.123])\n",
			 A),
	       "a;f{guest kernel ffffffff81000001 ([guest.kernel.kallsyms.123]) exact} 1\n");
}

static void test_frames(void)
{
	static const char head[] = "a 1 1.000000: 1 e: \n";
	static const struct {
		const char *line, *expect;
	} cases[] = {
		/* Names with anything in them stay whole. */
		{ "\t 10 f+0x1 (/x)", "f{user 10 (/x) exact}" },
		{ "\t 10 _start+0xffff018fd5dce000 (/usr/lib/ld-2.24.so)",
		  "_start{user 10 (/usr/lib/ld-2.24.so) exact}" },
		{ "\t 10 operator()(int&&) (/x)", "operator()(int&&){user 10 (/x) exact}" },
		{ "\t 10 operator()(int&&)", "operator()(int&&){user 10 exact}" },
		{ "\t 10 (anonymous namespace)::f(void (*)(int)) (/x)",
		  "(anonymous namespace)::f(void (*)(int)){user 10 (/x) exact}" },
		{ "\t 10 {lambda()#1}::f+0x4 (/x (deleted))",
		  "{lambda()#1}::f{user 10 (/x (deleted)) exact}" },
		{ "\t 10 f (/memfd:doublemapper (deleted))",
		  "f{user 10 (/memfd:doublemapper (deleted)) exact}" },
		{ "\t 10 f (/tmp/a)b)", "f{user 10 (/tmp/a)b) exact}" },
		{ "\t 10 f (/tmp/My App (x86)/a b.so)",
		  "f{user 10 (/tmp/My App (x86)/a b.so) exact}" },
		{ "\t 10 LazyCompile:*f /x.js:12 (/tmp/perf-1.map)",
		  "LazyCompile:*f /x.js:12{user 10 (/tmp/perf-1.map) exact}" },
		{ "\t 10 Lcom/x/Y;::m (/tmp/perf-1.map)",
		  "Lcom/x/Y;::m{user 10 (/tmp/perf-1.map) exact}" },
		{ "\t 10 net/http.(*conn).serve (/x)",
		  "net/http.(*conn).serve{user 10 (/x) exact}" },
		{ "\t 10 <A as B>::c+0x10 (/x)", "<A as B>::c{user 10 (/x) exact}" },
		{ "\t 10 f+0x2 (/usr/lib/libc.so.6+0x2724a)",
		  "f{user 10 (/usr/lib/libc.so.6) exact}" },
		{ "\t 10 f (inlined)", "f{user 10 exact inlined}" },
		{ "\t 10 (/x)", "[unknown]{user 10 (/x) exact}" },
		{ "\t 10", "[unknown]{user 10 exact}" },
		{ "\t6ce258d4c544155 [unknown] ([unknown])",
		  "[unknown]{user 6ce258d4c544155 exact unknown}" },
		{ "\t 10 [unknown] ([unknown] )", "[unknown]{user 10 exact unknown}" },
		{ "\t 10 [unknown] (/x)", "[unknown]{user 10 (/x) exact unknown}" },
		/* Spaces. */
		{ "\tffffffff81000001 f ([kernel.kallsyms])",
		  "f{kernel ffffffff81000001 ([kernel.kallsyms]) exact}" },
		{ "\t414b3b f (/lib/modules/4.1.0/build/vmlinux)",
		  "f{kernel 414b3b (/lib/modules/4.1.0/build/vmlinux) exact}" },
		{ "\t414b3b f (/boot/vmlinux-4.1.0)",
		  "f{kernel 414b3b (/boot/vmlinux-4.1.0) exact}" },
		{ "\t414b3b f ([ext4])", "f{kernel 414b3b ([ext4]) exact}" },
		{ "\t414b3b f (/lib/modules/x/ext4.ko.xz)",
		  "f{kernel 414b3b (/lib/modules/x/ext4.ko.xz) exact}" },
		{ "\tffffffffc0001000 f (bpf_prog_6deef7357e7b4530_f)",
		  "f{kernel ffffffffc0001000 (bpf_prog_6deef7357e7b4530_f) exact}" },
		{ "\t7fff10 f ([vdso])", "f{user 7fff10 ([vdso]) exact}" },
		{ "\tffffffffff600000 f ([vsyscall])",
		  "f{user ffffffffff600000 ([vsyscall]) exact}" },
		{ "\tffffffff9b201293 [unknown] ([unknown])",
		  "[unknown]{kernel ffffffff9b201293 exact unknown}" },
		{ "\tffffffffffffffff [unknown] ([unknown])",
		  "[unknown]{user ffffffffffffffff exact unknown}" },
		{ "\tffff82d040281fdf [unknown] ([unknown])",
		  "[unknown]{hypervisor ffff82d040281fdf exact unknown}" },
		{ "\tffff830000281fdf [unknown] ([unknown])",
		  "[unknown]{hypervisor ffff830000281fdf exact unknown}" },
		{ "\tffff82d040281fdf idle_loop_[h] (xen-syms)",
		  "idle_loop{hypervisor ffff82d040281fdf (xen-syms) exact}" },
		{ "\tffff82d040281fdf idle_loop+0x5 ([kernel.kallsyms])",
		  "idle_loop{hypervisor ffff82d040281fdf ([kernel.kallsyms]) exact}" },
		/* An arm64 kernel lies in what is Xen's range on x86. */
		{ "\tffff800010281fdf el0_svc ([kernel.kallsyms])",
		  "el0_svc{kernel ffff800010281fdf ([kernel.kallsyms]) exact}" },
		{ "\t 10 f (xen-syms) /src/xen/arch/x86/domain.c:90",
		  "f{hypervisor 10 (xen-syms) /src/xen/arch/x86/domain.c:90 exact}" },
		/* Source lines. */
		{ "\t 10 f (/x)\n  busy.c:12", "f{user 10 (/x) busy.c:12 exact}" },
		{ "\t 10 f+0x1\n  busy.c:10 (inlined)", "f{user 10 busy.c:10 exact inlined}" },
		{ "\t 10 f (/x)\n  ??:0", "f{user 10 (/x) exact}" },
		{ "\t 10 f (/x)\n  x[ffffffff81650989]", "f{user 10 (/x) exact}" },
		{ "\t 10 f (/x)\n  a b.c:3\n|3   for (;;)", "f{user 10 (/x) a b.c:3 exact}" },
		/* Other lines below frames. */
		{ "\t 10 f (/x)\n ABI:2    AX:0x0    BX:0x6", "f{user 10 (/x) exact}" },
		/* Blanks for the tab. */
		{ "            10 f (/x)", "f{user 10 (/x) exact}" },
	};
	struct buf b = BUF_INIT, expect = BUF_INIT;
	size_t i, j;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		/* With LF, with CRLF, without an end; twice, since the second time comes from the
		 * cache. */
		for (j = 0; j < 3; j++) {
			const char *p;

			buf_clear(&b);
			buf_clear(&expect);
			buf_printf(&b, "%s%s\n\n%s%s%s", head, cases[i].line, head, cases[i].line,
				   j == 2 ? "" : "\n\n");
			if (j == 1) {
				struct buf cr = BUF_INIT;

				for (p = buf_str(&b); *p; p++) {
					if (*p == '\n')
						buf_putc(&cr, '\r');
					buf_putc(&cr, *p);
				}
				buf_release(&b);
				b = cr;
			}
			buf_printf(&expect, "a;%s 1\na;%s 1\n", cases[i].expect, cases[i].expect);
			STR_EQ(read_text(buf_str(&b), A), buf_str(&expect));
			EQ(sums.bad, 0);
		}
	}
	buf_release(&b);
	buf_release(&expect);
}

static void test_exact(void)
{
	/* First of all, first outside Xen, first user one; inlined frames go with the one that they
	 * are in. */
	STR_EQ(read_text("a 1 1.000000: 1 e: \n"
			 "\tffff82d040281fdf [unknown] ([unknown])\n"
			 "\tffff82d040282a58 [unknown] ([unknown])\n"
			 "\tffffffff812ff7a5 i1 (inlined)\n"
			 "\tffffffff812ff7a5 xen_hypercall_pv+0x5 ([kernel.kallsyms])\n"
			 "\tffffffff812ff7d2 check_events+0x12 ([kernel.kallsyms])\n"
			 "\t           d4ad7 execve+0x7 (/lib/libc.so.6)\n"
			 "\t           d4ad7 i2 (inlined)\n"
			 "\t           d4ad7 main (/bin/x)\n\n",
			 A),
	       "a;main{user d4ad7 (/bin/x)};i2{user d4ad7 inlined};execve{user d4ad7 "
	       "(/lib/libc.so.6) exact};"
	       "check_events{kernel ffffffff812ff7d2 ([kernel.kallsyms])};"
	       "xen_hypercall_pv{kernel ffffffff812ff7a5 ([kernel.kallsyms]) exact};i1{kernel "
	       "ffffffff812ff7a5 exact inlined};"
	       "[unknown]{hypervisor ffff82d040282a58 unknown};[unknown]{hypervisor "
	       "ffff82d040281fdf exact unknown} 1\n");
	/* Garbage behind user frames is no kernel, whatever it looks like. */
	STR_EQ(read_text("a 1 1.000000: 1 e: \n"
			 "\t           d4ad7 f (/lib/libc.so.6)\n"
			 "\tffffffff812ff7a5 [unknown] ([unknown])\n\n",
			 A),
	       "a;[unknown]{user ffffffff812ff7a5 unknown};f{user d4ad7 (/lib/libc.so.6) exact} "
	       "1\n");
	/* Text of another architecture: the address tells nothing of a hypervisor. */
	STR_EQ(read_text("# arch : aarch64\n"
			 "a 1 1.000000: 1 e: \n\tffff800010281fdf [unknown] ([unknown])\n",
			 A),
	       "a;[unknown]{kernel ffff800010281fdf exact unknown} 1\n");
}

static void test_flat(void)
{
	STR_EQ(read_text("            busy 30387  7707.645879:    1003009 cpu-clock:  "
			 "ffffffff81650989 kmem_cache_alloc+0x359 ([kernel.kallsyms])\n"
			 "              dd 30388  7707.645880:    1003009 cpu-clock:      "
			 "55fd37024326 f+0x26 (/bin/dd)\n",
			 A | P),
	       "busy;kmem_cache_alloc{kernel ffffffff81650989 ([kernel.kallsyms]) exact} 1003009\n"
	       "dd;f{user 55fd37024326 (/bin/dd) exact} 1003009\n");
	STR_EQ(read_text("         busy_fp 30399      7f339e1aaf87 dl_main\n"
			 "        my prog 5 30399  ffffffff8225fd19 pvm_irq_enable\n",
			 T),
	       "-1/30399;[-1];-1;busy_fp;dl_main 1\n-1/30399;[-1];-1;my prog 5;pvm_irq_enable 1\n");
	/* A comm set to the right by two blanks is no source line of the sample before. */
	STR_EQ(read_text("  abcdefghijklmn 1 1.000000: 1 e:  ffffffff81650989 f\n"
			 "  abcdefghijklmn 1 2.000000: 1 e:  ffffffff81650989 f\n"
			 "  /src/f.c:12\n"
			 "  abcdefghijklmn 1 3.000000: 1 e:  ffffffff81650989 f\n",
			 A),
	       "abcdefghijklmn;f{kernel ffffffff81650989 exact} 1\n"
	       "abcdefghijklmn;f{kernel ffffffff81650989 /src/f.c:12 exact} 1\n"
	       "abcdefghijklmn;f{kernel ffffffff81650989 exact} 1\n");
	/* Little before the address: event, comm and event, processor, modes, empty flags. */
	STR_EQ(read_text("  cycles:      559e38bcbd63\n  cycles:  ffff82d040281fdf\n", E),
	       "cycles;[unknown] 1\ncycles;[unknown] 1\n");
	STR_EQ(read_text("            perf   cycles:      559e38bcbd63 f\n"
			 "            perf  branches:     559e38bcbd63 f\n",
			 E),
	       "cycles;perf;f 1\nbranches;perf;f 1\n");
	STR_EQ(read_text("[001]      559e38bcbd63 f\n[000]  ffff82d040281fdf g\n", T),
	       "-1/-1;[1];-1;f 1\n-1/-1;[0];-1;g 1\n");
	STR_EQ(read_text("            perf 70 [001] U          559e38bcbd63 f\n"
			 "         swapper 0 KUH    ffff82d040281fdf g\n",
			 T),
	       "-1/70;[1];-1;perf;f 1\n-1/0;[-1];-1;swapper;g 1\n");
	STR_EQ(read_text("         busy_fp                          ffffffff81650989 f\n"
			 "         busy_fp                              55fd37024326 g\n",
			 0),
	       "busy_fp;f 1\nbusy_fp;g 1\n");
	EQ(sums.bad, 0);
	/* With a data address in front. */
	STR_EQ(read_text("a 1 1.000000: 1 e:                 0     7f339e1aaf87 f (/x)\n", 0),
	       "a;f 1\n");
	/* Frames alone. */
	STR_EQ(read_text("\tffffffff81650989\n\t           20b1d\n\n\tffffffff81650989\n\n", A),
	       "[unknown]{user 20b1d exact};[unknown]{kernel ffffffff81650989 exact} 1\n"
	       "[unknown]{kernel ffffffff81650989 exact} 1\n");
	/* Branches. */
	STR_EQ(read_text("1/1 1.000000:   1    branches:uH:   tr strt      0 [unknown] ([unknown]) "
			 "=>     7ffff7ddc140 _start+0x0 (/ld)\n"
			 "1/1 1.000000:   1    branches:uH:   call      7ffff7ddc143 _start+0x3 "
			 "(/ld) =>     7ffff7ddc850 _dl_start+0x0 (/ld)\n"
			 " instruction trace error type 1 time 2.0 cpu -1 pid 14 tid 14 ip 0x7f "
			 "code 7: Overflow packet (foo.so)\n",
			 0),
	       "_start 1\n_start 1\n");
	EQ(sums.bad, 0);
}

static void test_others(void)
{
	/* Nothing is lost, and what is not understood is told. */
	STR_EQ(read_text("a 1 1.000000: 1 e: \n\n"
			 "b 1 1.000000: PERF_RECORD_LOST lost 12\n"
			 "b 1 1.000000: PERF_RECORD_MMAP2 30502/30502: [0x55(0x1000) @ 0x1000 "
			 "fe:00 1 2]: r-xp /x\n"
			 "b 1 1.000000: \tmetric:   20.000 G/sec\n"
			 "what is this\n"
			 "c 1 1.000000: 1 e: \n\t nonsense\n\t 10 f (/x)\n",
			 0),
	       "a 1\nc;f 1\n");
	EQ(sums.bad, 2);
	EQ(sums.lost, 12);
	EQ(sums.samples, 2);
	EQ(sums.empty, 1);
	/* Two samples without an empty line between them. */
	STR_EQ(read_text("a 1 1.000000: 1 e: \n\t 10 f (/x)\nb 1 1.000000: 1 e: \n\t 10 f (/x)", 0),
	       "a;f 1\nb;f 1\n");
	/* A payload that ends in a newline does not cut the stack off. */
	STR_EQ(read_text("a 1 1.000000: bpf:printk: hello\n\n\t 10 f (/x)\n\na 1 1.000000: "
			 "bpf:printk: x\n\n\na 1 1.000000: e: \n\t 10 f (/x)\n\n",
			 E),
	       "bpf:printk;a;f 1\nbpf:printk;a 1\ne;a;f 1\n");
	EQ(sums.bad, 0);
	/* Registers end a sample. */
	STR_EQ(read_text("a 1 1.000000: 1 e: \n\t 10 f (/x)\n ABI:2 AX:0x1\na 1 1.000000: 1 e: "
			 "\n\t 10 f (/x)\n ABI:2 AX:0x1\n\n",
			 0),
	       "a;f 1\na;f 1\n");
	/* A physical address behind the stack; a dump around the sample. */
	STR_EQ(read_text("a 1 1.000000: 1 e:       0  5 |OP N/A|  \n\t 10 f (/x)\n               "
			 "0\nb 1 1.000000: 1 e: \n\t 10 f (/x)\n",
			 0),
	       "a;f 1\nb;f 1\n");
	EQ(sums.bad, 0);
	/* So do sizes of pages, and the instruction. */
	STR_EQ(read_text(
		       "a \n\t 10\n N/A 4K\na \n\t 20\n 2M\n\nb 7 \n\t 10 f\n ilen: 3 insn: 48 89 "
		       "c1\nb 7 \n\t 10 f\n insn: 90\n",
		       0),
	       "a;[unknown] 1\na;[unknown] 1\nb;f 1\nb;f 1\n");
	EQ(sums.bad, 0);
	STR_EQ(read_text("0x478@perf.data [0x80]: event: 10\n.\n. ... raw event: size 128 bytes\n. "
			 " 0000:  0a 00 00 00  ....\n\n"
			 "7707646878845 0x4f8 [0x50]: PERF_RECORD_SAMPLE(IP, 0x2): 30387/30387: "
			 "0x55fd37024326 period: 1003009 addr: 0\n"
			 "... FP chain: nr:2\n.....  0: fffffffffffffe00\n.....  1: "
			 "000055fd37024326\n"
			 " ... thread: a:1\n ...... dso: /x\na 1  7.646878:    1003009 e: \n\t     "
			 "       1326 f+0x26 (/x)\n\n"
			 "0 0x108 [0x50]: PERF_RECORD_LOST lost 5\n",
			 0),
	       "a;f 1\n");
	EQ(sums.bad, 0);
	EQ(sums.lost, 0);
	STR_EQ(read_text("", 0), "");
	STR_EQ(read_text("\n\n\r\n", 0), "");
}

static void test_meta(void)
{
	static const char text[] = "# ========\n# hostname : dom0\n# os release : 6.12\n# arch : "
				   "x86_64\n# nrcpus online : 4\n"
				   "# cmdline : /usr/bin/perf record -a \n#\n"
				   "a 1 2.000000: 1 e: \n\t 10 f (/x)\n\na 1 1.000000: 1 g: \n\t "
				   "10 f (/x)\n\nb 1 3.5: 1 e: \n\n";
	struct error err = { "" };
	struct perf_reader *r;
	struct perf_item it;
	struct strtab st;
	struct diag diag;
	char path[64];
	int fd = memory_file(text, sizeof(text) - 1, path), n = 0;

	strtab_init(&st);
	diag_init(&diag);
	r = perf_open(path, NULL, &st, &diag, &err);
	if (!OK(r != NULL))
		return;
	STR_EQ(perf_meta(r)->format, "perf script");
	while (perf_next(r, &it, &err) > 0)
		n++;
	EQ(n, 3);
	STR_EQ(perf_meta(r)->hostname, "dom0");
	STR_EQ(perf_meta(r)->release, "6.12");
	STR_EQ(perf_meta(r)->arch, "x86_64");
	STR_EQ(perf_meta(r)->cmdline, "/usr/bin/perf record -a");
	EQ(perf_meta(r)->nrcpus_online, 4);
	EQ(perf_meta(r)->events.n, 2);
	STR_EQ(perf_meta(r)->events.v[0].name, "e");
	EQ(perf_meta(r)->events.v[0].samples, 2);
	EQ(perf_meta(r)->events.v[1].samples, 1);
	EQ(perf_meta(r)->first_time, 1000000000);
	EQ(perf_meta(r)->last_time, 3500000000ULL);
	EQ(perf_text_frame_count(r), 1);
	perf_close(r);
	diag_release(&diag);
	strtab_release(&st);
	close(fd);
}

/* The numbers of the samples' stacks, a '*' behind each that brings its chain. */
static const char *stack_numbers(const char *text, struct perf_opts opts)
{
	static struct buf b;
	struct error err = { "" };
	struct perf_reader *r;
	struct perf_item it;
	struct strtab st;
	struct diag diag;
	char path[64];
	int fd = memory_file(text, strlen(text), path);

	buf_clear(&b);
	strtab_init(&st);
	diag_init(&diag);
	r = perf_open(path, &opts, &st, &diag, &err);
	while (r && perf_next(r, &it, &err) > 0)
		buf_printf(&b, " %d%s", (int)it.sample.stack_nr, it.sample.chain_nr ? "*" : "");
	if (err.msg[0])
		printf("# %s\n", err.msg);
	perf_close(r);
	diag_release(&diag);
	strtab_release(&st);
	close(fd);
	return buf_str(&b);
}

static void test_stack_numbers(void)
{
#define STACK_A "\t 1 f (x)\n\t 2 g (x)\n\n"
#define STACK_B "\t 1 f (x)\n\t 3 h (x)\n\n"
	static const char text[] =
		"busy 1/1 [000] 1.0: cycles: \n" STACK_A "busy 2/2 [001] 2.0: cycles: \n" STACK_B
		"busy 1/1 [000] 3.0: cycles: \n" STACK_A "idle 1/1 [000] 4.0: cycles: \n" STACK_A
		"busy 1/1 [000] 5.0: faults: \n" STACK_A "busy 3/3 [001] 6.0: cycles: \n" STACK_B
		"busy 1/1 [001] 7.0: cycles: \n" STACK_A;
	static const struct {
		u32 threads, piece;
	} ways[] = { { 1, 0 }, { 1, 40 }, { 2, 40 }, { 5, 40 } };
	struct perf_opts opts = { .format = "perf-script" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		opts.threads = ways[i].threads;
		opts.piece = ways[i].piece;
		opts.stacks_once = opts.by_task = false;
		STR_EQ(stack_numbers(text, opts), " -1* -1* -1* -1* -1* -1* -1*");
		opts.stacks_once = true;
		STR_EQ(stack_numbers(text, opts), " 0* 1* 0 2* 3* 1 0");
		opts.by_task = true;
		STR_EQ(stack_numbers(text, opts), " 0* 1* 0 2* 3* 4* 5*");
	}
	opts.format = "folded";
	STR_EQ(stack_numbers("a;b 1\na;b 2\n", opts), " -1* -1*");
}

/* A line that differs from an expected one in any single byte, and in its length, is another one.
 */
static void test_near_lines(void)
{
	static const size_t lengths[] = {
		1,  2,  3,  12, 13, 14, 15, 16, 28, 29, 30,  31,  44,  45,
		46, 47, 48, 60, 61, 62, 76, 92, 93, 94, 108, 109, 140, 300
	};
	struct buf text = BUF_INIT, right = BUF_INIT;
	size_t i, k, n;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		n = lengths[i];
		buf_clear(&text);
		buf_clear(&right);
		/* Every second one is as, the others have one b and some a c behind. */
		for (k = 0; k <= 2 * n + 1; k++) {
			size_t at = k % 2 ? n : k / 2, j;

			buf_puts(&text, "t 1 1.5: cycles: \n\tffffffff81000010 first (x)\n"
					"\tffffffff81000020 ");
			buf_puts(&right, "cycles;t;");
			for (j = 0; j < n; j++)
				buf_putc(&text, j == at ? 'b' : 'a');
			for (j = 0; j < n; j++)
				buf_putc(&right, j == at ? 'b' : 'a');
			if (k % 4 == 3)
				buf_putc(&text, 'c');
			if (k % 4 == 3)
				buf_putc(&right, 'c');
			buf_puts(&text, "\n\n");
			buf_puts(&right, ";first 1\n");
		}
		STR_EQ(read_text(buf_str(&text), E), buf_str(&right));
	}
	buf_release(&text);
	buf_release(&right);
}

/* Lines that were expected have a source line below them this time, or have none any more. */
static void test_near_srclines(void)
{
	static const char *const frames[] = { "ffffffff81000010 k ([kernel.kallsyms])",
					      "ffffffff81000020 l ([kernel.kallsyms])",
					      "            1230 u (/bin/x)",
					      "            1240 v (/bin/x)" };
	static const char *const says[][2] = {
		{ "k{kernel ffffffff81000010 ([kernel.kallsyms]) exact}",
		  "k{kernel ffffffff81000010 ([kernel.kallsyms]) f.c:1 exact}" },
		{ "l{kernel ffffffff81000020 ([kernel.kallsyms])}",
		  "l{kernel ffffffff81000020 ([kernel.kallsyms]) f.c:2}" },
		{ "u{user 1230 (/bin/x) exact}", "u{user 1230 (/bin/x) f.c:3 exact}" },
		{ "v{user 1240 (/bin/x)}", "v{user 1240 (/bin/x) f.c:4}" },
	};
	struct buf text = BUF_INIT, right = BUF_INIT;
	unsigned with, k, i;

	for (k = 0; k < 64; k++) {
		/* Each after each. */
		with = k % 2 ? k / 2 % 16 : k / 8 * 5 % 16;
		buf_puts(&text, "t 1 1.5: cycles: \n");
		buf_puts(&right, "t");
		for (i = 0; i < ARRAY_SIZE(frames); i++) {
			buf_printf(&text, "\t%s\n", frames[i]);
			if (with >> i & 1)
				buf_printf(&text, "  f.c:%u\n", i + 1);
		}
		for (i = ARRAY_SIZE(frames); i-- > 0;)
			buf_printf(&right, ";%s", says[i][with >> i & 1]);
		buf_puts(&text, "\n");
		buf_puts(&right, " 1\n");
	}
	STR_EQ(read_text(buf_str(&text), A), buf_str(&right));
	buf_release(&text);
	buf_release(&right);
}

/* A first line that differs from the one before in a digit or in what is no digit. */
static void test_near_heads(void)
{
	static const struct {
		const char *head, *says;
	} lines[] = {
		{ "some-thread     4010 [008]  7707.000102:    1003009 cycles: ",
		  "cycles;-1/4010;[8];7707000102000;some-thread 1003009" },
		{ "some-thread     4010 [015]  7708.999999:    1003009 cycles: ",
		  "cycles;-1/4010;[15];7708999999000;some-thread 1003009" },
		{ "some-thread     4011 [008]  7707.000102:    1003009 cycles: ",
		  "cycles;-1/4011;[8];7707000102000;some-thread 1003009" },
		{ "some-thread     4010 [008]  7707.000102:    1003010 cycles: ",
		  "cycles;-1/4010;[8];7707000102000;some-thread 1003010" },
		{ "some-thread     4010 [008]  7707.000102:    1003009 cyclet: ",
		  "cyclet;-1/4010;[8];7707000102000;some-thread 1003009" },
		{ "some-threat     4010 [008]  7707.000102:    1003009 cycles: ",
		  "cycles;-1/4010;[8];7707000102000;some-threat 1003009" },
		{ "some-thread     4010 [008] 17707.000102:    1003009 cycles: ",
		  "cycles;-1/4010;[8];17707000102000;some-thread 1003009" },
		{ "some-thread 4009/4010 [8]  7707.000102:    1003009 cycles: ",
		  "cycles;4009/4010;[8];7707000102000;some-thread 1003009" },
		{ "some: thread    4010 [008]  7707.000102:    1003009 cycles: ",
		  "cycles;-1/4010;[8];7707000102000;some: thread 1003009" },
		/* A processor behind a blank, the same place without one. */
		{ "some-thread     4010[008]   7707.000102:    1003009 cycles: ",
		  "cycles;-1/-1;[-1];7707000102000;some-thread     4010[008] 1003009" },
		{ "some-thread     401 [008]   7707.000102:    1003009 cycles: ",
		  "cycles;-1/401;[8];7707000102000;some-thread 1003009" },
	};
	struct buf text = BUF_INIT, right = BUF_INIT;
	size_t i, k, x;

	for (i = 0; i < ARRAY_SIZE(lines); i++)
		for (k = 0; k < ARRAY_SIZE(lines); k++)
			for (x = 0; x < 2; x++) {
				const char *space = strrchr(lines[x ? k : i].says, ' ');

				buf_printf(&text, "%s\n\t 1 f (x)\n\n", lines[x ? k : i].head);
				buf_printf(&right, "%.*s;f%s\n",
					   (int)(space - lines[x ? k : i].says),
					   lines[x ? k : i].says, space);
			}
	STR_EQ(read_text(buf_str(&text), T | E | P), buf_str(&right));
	/* The first word that starts like a record decides. */
	STR_EQ(read_text("xPERF_RECORD_ab 4010 [008] 7707.000102: 1 cycles PERF_RECORD_X: \n"
			 "\t 1 f (x)\n\n"
			 "some-thread-abc 4010 [008] 7707.000102: 1 cycles: \n\t 1 f (x)\n\n"
			 "some-thread-abc 4010 [008] 7707.000102: 1 cycles PERF_RECORD_X: \n",
			 E),
	       "cycles PERF_RECORD_X;xPERF_RECORD_ab;f 1\ncycles;some-thread-abc;f 1\n");
	buf_release(&text);
	buf_release(&right);
}

/* Any byte of a first line may be another one: it says the same as without a line before it. */
static void test_known_heads(void)
{
	static const char *const heads[] = {
		"some-thread     4010 [008]  7707.000102:    1003009 cycles: ",
		"some-thread     4010 [127] 123456789.123456789:  5 cycles: ",
		"some-thread     4010 [099] 12345678.1:  5 cycles: ",
		"some-thread     4010 [000] 0.12345678:  5 cycles: ",
	};
	static const char other[] = "09/:; a.[]\t\xb0\xb9\xff";
	struct buf text = BUF_INIT, right = BUF_INIT;
	size_t i, k, at;

	for (i = 0; i < ARRAY_SIZE(heads); i++)
		for (at = 0; at < strlen(heads[i]); at++) {
			buf_clear(&right);
			for (k = 0; k < strlen(other); k++) {
				buf_clear(&text);
				buf_printf(&text, "%s\n\t 1 f (x)\n\n", heads[i]);
				text.p[at] = other[k];
				/* Some of them are no first line: what is said is this. */
				buf_puts(&right, read_text(buf_str(&text), T | E | P));
			}
			buf_clear(&text);
			for (k = 0; k < strlen(other); k++) {
				size_t start = text.n;

				buf_printf(&text, "%s\n\t 1 f (x)\n\n", heads[i]);
				text.p[start + at] = other[k];
			}
			STR_EQ(read_text(buf_str(&text), T | E | P), buf_str(&right));
		}
	buf_release(&text);
	buf_release(&right);
}

int main(void)
{
	test_near_lines();
	test_known_heads();
	test_near_srclines();
	test_near_heads();
	test_heads();
	test_frames();
	test_exact();
	test_flat();
	test_others();
	test_meta();
	test_stack_numbers();
	return tap_done();
}
