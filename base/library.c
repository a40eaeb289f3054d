/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Libraries that are loaded at their first use. */
#include "base/base.h"

#ifdef LATE_LIBRARIES
#include <dlfcn.h>

int library_open(struct library *l, struct error *err)
{
	void *handle, *f;
	size_t i;

	if (l->open)
		return 0;
	handle = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return error_set(err, "%s needs a library that cannot be loaded: %s", l->purpose,
				 dlerror());
	for (i = 0; l->names[i]; i++) {
		f = dlsym(handle, l->names[i]);
		if (!f) {
			dlclose(handle);
			return error_set(err, "%s needs another version of %s: it has no %s()",
					 l->purpose, l->soname, l->names[i]);
		}
		/* POSIX has pointers to functions and to data hold the same. */
		memcpy((char *)l->functions + i * sizeof(f), &f, sizeof(f));
	}
	l->open = true;
	return 0;
}

#else

int library_open(struct library *l, struct error *err)
{
	(void)l;
	(void)err;
	return 0;
}

#endif
