/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Xen console logs, record by record. */
#include "tap.h"
#include "text-dump.h"

static u64 notes;

static const char *read_console(const char *text, int what)
{
	return dump_text(text, "xen-console", what, &notes);
}

/* Key d on Xen 4.17: host and guest part of one CPU are one stack; another CPU idles; a third one
 * was in its guest. */
static const char key_d[] =
	"(XEN) [  188.001749] 'd' pressed -> dumping registers\n"
	"(XEN) [  188.013073] *** Dumping CPU0 host state: ***\r\n"
	"(XEN) [  188.014344] ----[ Xen-4.17.7  x86_64  debug=n  Not tainted ]----\n"
	"(XEN) [  188.021051] CPU:    0\n"
	"(XEN) [  188.021408] RIP:    e008:[<ffff82d040230600>] do_softirq+0/0x10\n"
	"(XEN) [  188.022580] RFLAGS: 0000000000000202   CONTEXT: hypervisor (d0v0)\n"
	"(XEN) [  188.086244]  ff 90 90 90 90 90 90 90 <31> ff e9 29 ff ff ff 90 90 90 90 90 90 90 "
	"90 90\n"
	"(XEN) [  188.104542] Xen stack trace from rsp=ffff830063f57ef0:\n"
	"(XEN) [  188.104975]    ffff82d040204986 ffff88800579f4a2 0000000000000b5e "
	"ffffc9004092bca0\n"
	"(XEN) [  188.197035] Xen call trace:\n"
	"(XEN) [  188.197387]    [<ffff82d040230600>] R do_softirq+0/0x10\n"
	"(XEN) [  188.198135]    [<ffff82d040204986>] S x86_64/entry.S#process_softirqs+0x6/0x20\n"
	"(XEN) [  188.241220] \n"
	"(XEN) [  188.241546] *** Dumping CPU0 guest state (d0v0): ***\n"
	"(XEN) [  188.242182] ----[ Xen-4.17.7  x86_64  debug=n  Not tainted ]----\n"
	"(XEN) [  188.242729] CPU:    0\n"
	"(XEN) [  188.242926] RIP:    e033:[<ffffffff819edac0>]\n"
	"(XEN) [  188.243370] RFLAGS: 0000000000000202   EM: 0   CONTEXT: pv guest (d0v0)\n"
	"(XEN) [  188.326147] Guest stack trace from rsp=ffffc9004092bb68:\n"
	"(XEN) [  188.326554]    ffffffff819f23ed ffff88800579f4a2 0000000000000001 "
	"0000000000000000\n"
	"(XEN) [  188.474202] *** Dumping CPU1 host state: ***\n"
	"(XEN) [  188.474549] ----[ Xen-4.17.7  x86_64  debug=n  Not tainted ]----\n"
	"(XEN) [  188.475007] CPU:    1\n"
	"(XEN) [  188.475198] RIP:    e008:[<ffff82d0402f9c06>] "
	"arch/x86/domain.c#default_idle+0xc6/0xf0\n"
	"(XEN) [  188.497385] RFLAGS: 0000000000000206   CONTEXT: hypervisor\n"
	"(XEN) [  188.649208] Xen call trace:\n"
	"(XEN) [  188.668375]    [<ffff82d0402f9c06>] R arch/x86/domain.c#default_idle+0xc6/0xf0\n"
	"(XEN) [  188.669148]    [<ffff82d0402fa741>] F arch/x86/domain.c#idle_loop+0xc1/0x130\n"
	"(XEN) [  188.700000] *** Dumping CPU2 guest state (d3v1): ***\n"
	"(XEN) [  188.700000] ----[ Xen-4.17.7  x86_64  debug=n  Not tainted ]----\n"
	"(XEN) [  188.700000] CPU:    2\n"
	"(XEN) [  188.700000] RIP:    0010:[<ffffffff81000123>]\n"
	"(XEN) [  188.700000] RFLAGS: 0000000000000246   CONTEXT: hvm guest (d3v1)\n";

static void test_key_d(void)
{
	STR_EQ(read_console(key_d, DUMP_ALL | DUMP_TASK),
	       "-1/-1;[0];188013073000;d0{none root};d0v0{none root};[unknown]{kernel "
	       "ffffffff819edac0 exact};"
	       "process_softirqs{hypervisor ffff82d040204986 (xen-syms) x86_64/entry.S:0 doubtful};"
	       "do_softirq{hypervisor ffff82d040230600 (xen-syms) exact} 1\n"
	       "-1/-1;[1];188474202000;[xen]{none root};idle_loop{hypervisor ffff82d0402fa741 "
	       "(xen-syms) arch/x86/domain.c:0};"
	       "default_idle{hypervisor ffff82d0402f9c06 (xen-syms) arch/x86/domain.c:0 exact} 1\n"
	       "-1/-1;[2];188700000000;d3{none root};d3v1{none root};[unknown]{guest kernel "
	       "ffffffff81000123 exact} 1\n");
	EQ(notes, 1);
}

/* A BUG, without "Dumping" lines; a livepatch; lines of a serial log between them. */
static void test_panic(void)
{
	STR_EQ(read_console("(XEN) Xen BUG at foo.c:12\n"
			    "[   12.3] dom0 says something\n"
			    "(XEN) ----[ Xen-4.20.0  x86_64  debug=y  Tainted:   C    ]----\n"
			    "(XEN) CPU:    3\n"
			    "(XEN) RIP:    e008:[<ffff82d040230600>] bar.c#bug_here+0x10/0x20\n"
			    "(XEN) RFLAGS: 0000000000010286   CONTEXT: hypervisor (d12v3)\n"
			    "(XEN) Xen call trace:\n"
			    "(XEN)    [<ffff82d040230600>] R bar.c#bug_here+0x10/0x20\n"
			    "(XEN)    [<ffff82d0406b0010>] F patched+0x10/0x20 [xsa999]\n"
			    "(XEN)    [<ffff82d040230700>] F caller+0x1/0x2\n"
			    "(XEN) \n"
			    "(XEN) ****************************************\n"
			    "(XEN) Panic on CPU 3:\n",
			    DUMP_ALL | DUMP_TASK),
	       "-1/-1;[3];-1;d12{none root};d12v3{none root};caller{hypervisor ffff82d040230700 "
	       "(xen-syms)};"
	       "patched{hypervisor ffff82d0406b0010 (xsa999)};"
	       "bug_here{hypervisor ffff82d040230600 (xen-syms) bar.c:0 exact} 1\n");
	/* Old Xen does not say how it found a line: a release build scans the stack. */
	STR_EQ(read_console("(XEN) ----[ Xen-4.4.1  x86_64  debug=n  Not tainted ]----\n"
			    "(XEN) CPU:    0\n"
			    "(XEN) RIP:    e008:[<ffff82d080100000>] f+0x1/0x2\n"
			    "(XEN) RFLAGS: 0000000000010286   CONTEXT: hypervisor\n"
			    "(XEN) Xen call trace:\n"
			    "(XEN)    [<ffff82d080100000>] f+0x1/0x2\n"
			    "(XEN)    [<ffff82d080100010>] g+0x1/0x2\n"
			    "(XEN)    [<ffff82d080100020>] ffff82d080100020\n",
			    DUMP_ALL),
	       "[xen]{none root};ffff82d080100020{hypervisor ffff82d080100020 (xen-syms) doubtful};"
	       "g{hypervisor ffff82d080100010 (xen-syms) doubtful};f{hypervisor ffff82d080100000 "
	       "(xen-syms) exact} 1\n");
	/* Registers without a call trace. */
	STR_EQ(read_console("(XEN) ----[ Xen-4.20.0  x86_64  debug=y  Tainted:   C    ]----\n"
			    "(XEN) CPU:    3\n"
			    "(XEN) RIP:    e008:[<ffff82d040230600>] f+0x10/0x20\n",
			    0),
	       "[xen];f 1\n");
}

static void test_arm(void)
{
	STR_EQ(read_console(
		       "(XEN) *** Dumping CPU0 host state: ***\n"
		       "(XEN) ----[ Xen-4.18.0  arm64  debug=y  Not tainted ]----\n"
		       "(XEN) CPU:    0\n"
		       "(XEN) PC:     00000a0000265c20 domain.c#idle_loop+0x14/0x2c\n"
		       "(XEN) LR:     00000a0000265c10\n"
		       "(XEN) CPSR:   0000000060000249 MODE:64-bit EL2h (Hypervisor, handler)\n"
		       "(XEN) Xen call trace:\n"
		       "(XEN)    [<00000a0000265c20>] domain.c#idle_loop+0x14/0x2c (PC)\n"
		       "(XEN)    [<00000a0000265c10>] domain.c#idle_loop+0x4/0x2c (LR)\n"
		       "(XEN)    [<00000a0000275000>] start_secondary+0x200/0x210\n",
		       DUMP_ALL),
	       "[xen]{none root};start_secondary{hypervisor a0000275000 (xen-syms)};"
	       "idle_loop{hypervisor a0000265c10 (xen-syms) domain.c:0};"
	       "idle_loop{hypervisor a0000265c20 (xen-syms) domain.c:0 exact} 1\n");
}

static void test_none(void)
{
	const char *got =
		read_console("(XEN) Xen version 4.17.7\n(XEN) Command line: x\n(XEN) done\n", 0);

	OK(strstr(got, "no call trace in this Xen console log") != NULL);
	/* Broken lines do no harm. */
	STR_EQ(read_console("(XEN) Xen call trace:\n(XEN)    [<zz>] R f\n(XEN)    [<12\n(XEN) *** "
			    "Dumping CPU\n"
			    "(XEN) RIP:\n(XEN) CONTEXT: hypervisor (d\n(XEN) Xen call "
			    "trace:\n(XEN)    [<12>] R \n",
			    0),
	       "[xen];[unknown] 1\n");
}

int main(void)
{
	test_key_d();
	test_panic();
	test_arm();
	test_none();
	return tap_done();
}
