# SPDX-License-Identifier: GPL-2.0-or-later
# bash completion for xenflame

_xenflame()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} opt=

	COMPREPLY=()
	# An option with "=" comes as three words.
	if [[ $cur == = ]]; then
		opt=$prev cur=
	elif [[ $prev == = ]]; then
		opt=${COMP_WORDS[COMP_CWORD-2]}
	elif [[ $prev == --* || $prev == -o ]]; then
		opt=$prev
	fi
	case $opt in
	--format)
		mapfile -t COMPREPLY < <(compgen -W "$(xenflame --help 2>/dev/null |
			sed -n '/^Formats of the output/,/^$/s/^  \([a-z0-9-]*\) .*/\1/p')" -- "$cur")
		return ;;
	--input-format)
		mapfile -t COMPREPLY < <(compgen -W "$(xenflame --help 2>/dev/null |
			sed -n '/^Formats of the input/{n;p}')" -- "$cur")
		return ;;
	--colors)
		mapfile -t COMPREPLY < <(compgen -W "$(xenflame --help 2>/dev/null |
			sed -n '/^Palettes/{n;p}')" -- "$cur")
		return ;;
	--fail-if)
		[[ " ${COMP_WORDS[*]} " == *" diff "* ]] ||
			mapfile -t COMPREPLY < <(compgen -W 'unresolved unresolved_hypervisor unresolved_kernel
				unresolved_user unresolved_guest broken_stack truncated_stack lost ip_zero ip_zero_guest
				hv_depth_1 no_chain' -- "$cur")
		return ;;
	--weight)
		mapfile -t COMPREPLY < <(compgen -W 'samples period' -- "$cur")
		return ;;
	--normalize)
		mapfile -t COMPREPLY < <(compgen -W 'total time none' -- "$cur")
		return ;;
	--width-by)
		mapfile -t COMPREPLY < <(compgen -W 'after before union' -- "$cur")
		return ;;
	--as)
		mapfile -t COMPREPLY < <(compgen -W 'pyroscope otlp parca pprof' -- "$cur")
		return ;;
	--split)
		mapfile -t COMPREPLY < <(compgen -W 'space' -- "$cur")
		return ;;
	--annotate)
		mapfile -t COMPREPLY < <(compgen -W 'all' -- "$cur")
		return ;;
	--group)
		mapfile -t COMPREPLY < <(compgen -W 'domain cpu pid tid event' -- "$cur")
		return ;;
	--symfs|--debug-dir|--sysroot)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur")
		return ;;
	-o|--output|--ca-file|--xen-syms|--kallsyms|--vmlinux|--guest-kallsyms)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return ;;
	esac
	case $cur in
	-*)
		mapfile -t COMPREPLY < <(compgen -W '
			--output --format --open --strict --quiet
			--input-format --event --weight --comm --pid --tid --cpu --time --dso --guest --host --threads
			--xen-syms --kallsyms --vmlinux --guest-kallsyms --symfs --debug-dir --debuginfod --offline --force
			--no-inline --raw-names --srcline --addrs
			--group --annotate --reverse --inverted --collapse-recursion --by-module --by-entry --no-idle
			--only --hide --focus --prune
			--title --subtitle --notes --width --height --minwidth --fonttype --fontsize --countname --nametype
			--colors --bgcolors --palette-file --total --factor --flamechart --negate --plain-data --dark --scale --anonymous
			--normalize --width-by --subtract --confidence --slices --fail-if --fail-if-regressed
			--to --as --header --ca-file --timeout --retries --retry-wait --app --label --split --rate --until
			--json --markdown --top --sysroot --strip-stacks --debug-keys --probe --freq --no-trial
			--help --version' -- "$cur")
		;;
	*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		if [[ $COMP_CWORD == 1 || ( $COMP_CWORD == 2 && $prev == help ) ]]; then
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$(xenflame --help 2>/dev/null |
				sed -n '/^Verbs/,/^$/s/^  \([a-z]*\) .*/\1/p')" -- "$cur")
		fi
		;;
	esac
}
complete -o filenames -F _xenflame xenflame
