/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What to type, by distribution.  In the texts %o is the option, %n its name alone, %v Xen's
 * version without the last part ("4.17"), %f the whole ("4.17.7").
 *
 * Sources: Debian's /etc/default/grub.d/xen.cfg and grub-mkconfig, XCP-ng's xen-cmdline and spec
 * file of Xen, Qubes' spec file of Xen, GRUB's 20_linux_xen, Xen's docs/misc/efi.pandoc.
 */
#include "host/host.h"

struct host_distro {
	const char *name;
	const char
		*ids; /* values of ID and ID_LIKE of os-release, or parts of NAME, between spaces */
	const char *advice[ADVICE_NR];
};

#define GRUB2_OPTION                                                                          \
	"sed -i 's/^GRUB_CMDLINE_XEN_DEFAULT=\"/&%o /' /etc/default/grub\ngrub2-mkconfig -o " \
	"/boot/grub2/grub.cfg\nreboot"
#define GRUB2_NO_OPTION                                              \
	"sed -i '/^GRUB_CMDLINE_XEN/s/\\<%n\\>\\(=[^ \"]*\\)\\?//' " \
	"/etc/default/grub\ngrub2-mkconfig -o /boot/grub2/grub.cfg\nreboot"

static const struct host_distro distros[] = {
	{ "Qubes",
	  " qubes ",
	  {
		  [ADVICE_BOOT_OPTION] = GRUB2_OPTION,
		  [ADVICE_NO_OPTION] = GRUB2_NO_OPTION,
		  [ADVICE_FRAME_POINTERS] =
			  "qubes-dom0-update xen-hypervisor-debug\n"
			  "# then choose the entry of the '~debug' hypervisor in GRUB's menu",
		  [ADVICE_SYMBOLS] = "qubes-dom0-update xen-hypervisor-debug",
		  [ADVICE_PERF] = "qubes-dom0-update perf",
	  } },
	{ "XCP-ng",
	  " xcp-ng xenserver xenenterprise ",
	  {
		  [ADVICE_BOOT_OPTION] = "/opt/xensource/libexec/xen-cmdline --set-xen %o\nreboot",
		  [ADVICE_NO_OPTION] = "/opt/xensource/libexec/xen-cmdline --delete-xen %n\nreboot",
		  [ADVICE_FRAME_POINTERS] = "ls /boot/xen-%f*-d.gz\n"
					    "# point /boot/xen.gz at that file (the build with "
					    "assertions and frame pointers), then reboot",
		  [ADVICE_SYMBOLS] = "yum install xen-hypervisor-debuginfo",
		  [ADVICE_PERF] = "yum install perf",
	  } },
	{ "Debian",
	  " debian ubuntu ",
	  {
		  [ADVICE_BOOT_OPTION] = "echo 'GRUB_CMDLINE_XEN=\"$GRUB_CMDLINE_XEN %o\"' "
					 ">>/etc/default/grub.d/zz-xenflame.cfg\n"
					 "update-grub\nreboot",
		  [ADVICE_NO_OPTION] = "sed -i '/^GRUB_CMDLINE_XEN/s/\\<%n\\>\\(=[^ \"]*\\)\\?//' "
				       "/etc/default/grub /etc/default/grub.d/*.cfg\n"
				       "update-grub\nreboot",
		  [ADVICE_FRAME_POINTERS] = "# no package has them: build Xen with CONFIG_EXPERT=y "
					    "and CONFIG_FRAME_POINTER=y:\n"
					    "apt-get source xen && apt-get build-dep xen",
		  [ADVICE_SYMBOLS] = "apt-get install xen-hypervisor-%v-amd64-dbg",
		  [ADVICE_PERF] = "apt-get install linux-perf",
	  } },
	{ "openSUSE",
	  " suse opensuse ",
	  {
		  [ADVICE_BOOT_OPTION] = GRUB2_OPTION,
		  [ADVICE_NO_OPTION] = GRUB2_NO_OPTION,
		  [ADVICE_FRAME_POINTERS] =
			  "# build Xen with CONFIG_EXPERT=y and CONFIG_FRAME_POINTER=y",
		  [ADVICE_SYMBOLS] = "ls /usr/lib/debug/xen-syms-%f    # from the package of Xen's "
				     "debug files",
		  [ADVICE_PERF] = "zypper install perf",
	  } },
	{ "Fedora",
	  " fedora rhel centos ",
	  {
		  [ADVICE_BOOT_OPTION] = GRUB2_OPTION,
		  [ADVICE_NO_OPTION] = GRUB2_NO_OPTION,
		  [ADVICE_FRAME_POINTERS] =
			  "# build Xen with CONFIG_EXPERT=y and CONFIG_FRAME_POINTER=y",
		  [ADVICE_SYMBOLS] = "dnf debuginfo-install xen-hypervisor",
		  [ADVICE_PERF] = "dnf install perf",
	  } },
	/* Xen built by hand, and everything else. */
	{ "this system",
	  "",
	  {
		  [ADVICE_BOOT_OPTION] =
			  "# append '%o' to the line that boots Xen: GRUB_CMDLINE_XEN_DEFAULT in "
			  "/etc/default/grub and grub-mkconfig,\n"
			  "# or options= in xen.cfg beside xen.efi; then reboot",
		  [ADVICE_NO_OPTION] =
			  "# take '%n' out of the line that boots Xen: GRUB_CMDLINE_XEN_DEFAULT in "
			  "/etc/default/grub and grub-mkconfig,\n"
			  "# or options= in xen.cfg beside xen.efi; then reboot",
		  [ADVICE_FRAME_POINTERS] = "# build Xen with CONFIG_EXPERT=y and "
					    "CONFIG_FRAME_POINTER=y, or with debug=y",
		  [ADVICE_SYMBOLS] =
			  "# keep xen-syms of the build (make install puts it into /usr/lib/debug)",
		  [ADVICE_PERF] = "# install perf from the kernel's tools/perf",
	  } },
};

/* Whether the quoted or bare words of a line "KEY=…" hold one of `ids`, in lower case. */
static bool line_names(const char *line, size_t n, const char *ids)
{
	size_t i, len;
	char word[40];

	for (i = 0; i < n; i += len + 1) {
		size_t k;

		len = strcspn(line + i, " \"'=\n");
		if (i + len > n)
			len = n - i;
		if (!len || len > sizeof(word) - 3)
			continue;
		word[0] = ' ';
		for (k = 0; k < len; k++)
			word[k + 1] = line[i + k] >= 'A' && line[i + k] <= 'Z'
					      ? (char)(line[i + k] | 32)
					      : line[i + k];
		word[len + 1] = ' ';
		word[len + 2] = '\0';
		if (strstr(ids, word))
			return true;
	}
	return false;
}

const struct host_distro *host_distro_find(const char *os_release)
{
	static const char *const keys[] = { "NAME=", "ID=", "ID_LIKE=" };
	size_t k, i;

	/* NAME first: XCP-ng's ID is that of XenServer, and both say that they are like CentOS. */
	for (k = 0; k < ARRAY_SIZE(keys); k++) {
		const char *s = os_release;

		for (; *s; s += strcspn(s, "\n"), s += *s == '\n') {
			if (strncmp(s, keys[k], strlen(keys[k])))
				continue;
			for (i = 0; i + 1 < ARRAY_SIZE(distros); i++)
				if (line_names(s + strlen(keys[k]),
					       strcspn(s, "\n") - strlen(keys[k]), distros[i].ids))
					return &distros[i];
		}
	}
	return &distros[ARRAY_SIZE(distros) - 1];
}

const char *host_distro_name(const struct host_distro *d)
{
	return d->name;
}

const char *host_distro_advice(const struct host_distro *d, enum host_advice what,
			       const char *version, const char *option, struct arena *a)
{
	const char *s = d->advice[what], *dot;
	struct buf b = BUF_INIT;
	const char *copy;

	if (!version)
		version = "VERSION";
	dot = strchr(version, '.');
	dot = dot ? strchr(dot + 1, '.') : NULL;
	for (; *s; s++) {
		if (*s != '%') {
			buf_putc(&b, *s);
			continue;
		}
		switch (*++s) {
		case 'o': buf_puts(&b, option ? option : ""); break;
		case 'n':
			buf_put(&b, option ? option : "", option ? strcspn(option, "=") : 0);
			break;
		case 'v':
			buf_put(&b, version, dot ? (size_t)(dot - version) : strlen(version));
			break;
		case 'f': buf_puts(&b, version); break;
		default:
			buf_putc(&b, '%');
			s--;
			break;
		}
	}
	copy = arena_strndup(a, b.p, b.n);
	buf_release(&b);
	return copy;
}
