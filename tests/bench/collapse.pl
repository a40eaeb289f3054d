#!/usr/bin/perl
# SPDX-License-Identifier: GPL-2.0-or-later
# The smallest honest collapser of perf script text: what the usual ones do for a default text, and no more.
use strict;
use warnings;

my (%count, @stack, $comm);
while (<STDIN>) {
	if (/^$/) {
		$count{join(";", $comm, @stack)}++ if defined $comm;
		@stack = ();
		undef $comm;
	} elsif (/^\s+[0-9a-f]+ (.+) \((.*)\)$/) {
		my ($sym, $dso) = ($1, $2);
		$sym =~ s/\+0x[0-9a-f]+$//;
		$sym =~ tr/;/:/;
		unshift @stack, $sym;
	} elsif (/^(\S.*?)\s+\d+/) {
		$comm = $1;
	}
}
$count{join(";", $comm, @stack)}++ if defined $comm;
print "$_ $count{$_}\n" for sort keys %count;
