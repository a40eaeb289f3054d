/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of comparisons: probabilities of Student's t, and which of many differences are sure.
 */
#ifndef XENFLAME_PROFILE_NOISE_H
#define XENFLAME_PROFILE_NOISE_H

#include "base/base.h"

/* How often |T| >= t by chance, T of Student's distribution with `dof` degrees of freedom; dof 0:
 * normal. */
double noise_t_tail(double t, u32 dof);
/* The t >= 0 for which noise_t_tail(t, dof) == tail. */
double noise_t_quantile(double tail, u32 dof);
/*
 * The largest p of p[0..n) that counts as sure when all are looked at, so that of n chance
 * differences the first false one shows with at most the probability `rate` (Benjamini and
 * Hochberg's step-up rule); < 0: none. Sorts p.
 */
double noise_limit(double *p, size_t n, double rate);

#endif
