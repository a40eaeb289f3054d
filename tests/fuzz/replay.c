/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * main() of a fuzz target that is not built with libFuzzer: gives it each file named, and each file
 * of each folder named, and says in TAP what was done.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "base/base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static u32 nr;

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void file(const char *path)
{
	struct error err = { "" };
	struct file_map m;

	if (file_map_open(&m, path, 0, &err)) {
		printf("not ok %u - %s\n", ++nr, err.msg);
		return;
	}
	LLVMFuzzerTestOneInput(m.p, m.n);
	printf("ok %u - %s\n", ++nr, path_base(path));
	file_map_close(&m);
}

static void folder(const char *path)
{
	VEC(char *) names = { NULL, 0, 0 };
	DIR *d = opendir(path);
	struct dirent *de;
	size_t i;

	while (d && (de = readdir(d)))
		if (de->d_name[0] != '.')
			vec_push(&names, path_join(path, de->d_name));
	if (d)
		closedir(d);
	if (names.n)
		qsort(names.v, names.n, sizeof(*names.v), by_name);
	for (i = 0; i < names.n; i++) {
		file(names.v[i]);
		free(names.v[i]);
	}
	vec_release(&names);
}

int main(int argc, char **argv)
{
	struct stat st;
	int i;

	for (i = 1; i < argc; i++)
		if (!stat(argv[i], &st) && S_ISDIR(st.st_mode))
			folder(argv[i]);
		else
			file(argv[i]);
	printf("1..%u\n", nr);
	return nr ? 0 : 1;
}
