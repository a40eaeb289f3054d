/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The registers that Xen saves on its stack, x86-64, in the order of its public
 * header. The unit test of the series finds this one where it expects Xen's.
 */
#ifndef XENFLAME_TEST_PUBLIC_XEN_H
#define XENFLAME_TEST_PUBLIC_XEN_H

#include <stdint.h>

struct cpu_user_regs {
	uint64_t r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8;
	uint64_t rax, rcx, rdx, rsi, rdi;
	uint32_t error_code, entry_vector;
	uint64_t rip;
	uint16_t cs, pad0[1];
	uint8_t saved_upcall_mask, pad1[3];
	uint64_t rflags, rsp;
	uint16_t ss, pad2[3];
	uint16_t es, pad3[3], ds, pad4[3], fs, pad5[3], gs, pad6[3];
};

#endif
