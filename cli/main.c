/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The program. */
#include "base/base.h"

int main(void)
{
	fputs("xenflame: usage: xenflame FILE -o OUT\n", stderr);
	return 2;
}
