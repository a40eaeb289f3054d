/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++ for containers.py: names that need demangling, inlined and not, and a function inside another one. */
volatile int sink;

namespace shapes {
template <typename T> struct box {
	T v;
	__attribute__((always_inline)) inline T grow(T by)
	{
		sink = by;
		__asm__ volatile("probe: nop" ::: "memory");	/* @grow */
		return v + by + sink;
	}
};
namespace {
__attribute__((noinline)) int twice(box<int> &b, int n)
{
	return b.grow(n) * 2;	/* @twice */
}
}
}

int main(int argc, char **argv)
{
	shapes::box<int> b = { argc };
	auto lambda = [&](int x) __attribute__((noinline)) {
		__asm__ volatile("probe_lambda: nop" ::: "memory");	/* @lambda */
		return x + sink;
	};

	(void)argv;
	return shapes::twice(b, argc) + lambda(argc);
}
