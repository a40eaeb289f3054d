/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of comparisons. */
#include <math.h>

#include "profile/noise.h"

/*
 * For whole degrees of freedom Student's distribution is a finite sum in the cosine of atan(t /
 * sqrt(dof)) (Abramowitz and Stegun, 26.7.3 and 26.7.4).
 */
static double t_center(double t, u32 dof)
{
	double theta = atan(t / sqrt(dof)), c = cos(theta), c2 = c * c, term, sum;
	u32 k;

	if (dof % 2) {
		for (k = 3, term = sum = c; k < dof; k += 2) {
			term *= c2 * (k - 1) / k;
			sum += term;
		}
		return 2 / M_PI * (theta + (dof > 1 ? sin(theta) * sum : 0));
	}
	for (k = 2, term = sum = 1; k < dof; k += 2) {
		term *= c2 * (k - 1) / k;
		sum += term;
	}
	return sin(theta) * sum;
}

double noise_t_tail(double t, u32 dof)
{
	double p;

	if (!(t > 0))
		return 1;
	p = dof && dof <= 1000 ? 1 - t_center(t, dof) : erfc(t / M_SQRT2);
	return p < 1e-15 ? 1e-15 : p; /* the sum is not exact beyond */
}

double noise_t_quantile(double tail, u32 dof)
{
	double lo = 0, hi = 1, mid;
	int i;

	while (hi < 1e9 && noise_t_tail(hi, dof) > tail)
		hi *= 2;
	for (i = 0; i < 100; i++) {
		mid = (lo + hi) / 2;
		if (noise_t_tail(mid, dof) > tail)
			lo = mid;
		else
			hi = mid;
	}
	return hi;
}

static int cmp_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double noise_limit(double *p, size_t n, double rate)
{
	size_t i;

	if (!n)
		return -1;
	qsort(p, n, sizeof(*p), cmp_double);
	for (i = n; i > 0; i--)
		if (p[i - 1] <= rate * (double)i / (double)n)
			return p[i - 1];
	return -1;
}
