# SPDX-License-Identifier: MIT
# Completion of the command eggbox in bash.

_eggbox_words()
{
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_eggbox_files()
{
    local IFS=$'\n'
    # shellcheck disable=SC2207
    COMPREPLY=($(compgen -f -- "$1"))
    compopt -o filenames 2>/dev/null
}

# Completes the program, which follows "--" or is the first word that is not an option, and its
# arguments.
_eggbox_program()
{
    local first=$1 current=$2 IFS=$'\n'
    if [ "$first" -eq "$COMP_CWORD" ]; then
        # shellcheck disable=SC2207
        COMPREPLY=($(compgen -c -- "$current"))
    else
        _eggbox_files "$current"
    fi
}

_eggbox()
{
    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} options="" i
    COMPREPLY=()
    if [ "$COMP_CWORD" -eq 1 ]; then
        _eggbox_words "run report size compare doctor top ls gc --help --version" "$current"
        return
    fi
    case $command in
        run) options="--report --check --sample --guard-pages --suppress --json --help --" ;;
        report) options="--json --html --format --what --diff --fail-above --suppress --all --help" ;;
        top) options="--once --json --openmetrics --help" ;;
        doctor | ls | gc) options="--json --help" ;;
        size) options="--emit --cover --headroom --name --check --json --help" ;;
        compare)
            options="--with --runs --warmup --input --check-output --ignore-failure --json --hyperfine --help --"
            ;;
    esac
    for ((i = 2; i < COMP_CWORD; i++)); do
        case $command:${COMP_WORDS[i]} in
            *:--)
                _eggbox_program $((i + 1)) "$current"
                return
                ;;
            run:--report | run:--check | run:--sample | run:--guard-pages | run:--suppress) ((i++)) ;;
            compare:--with | compare:--runs | compare:--warmup | compare:--input) ((i++)) ;;
            run:[!-]* | compare:[!-]*)
                _eggbox_program "$i" "$current"
                return
                ;;
        esac
    done
    case $command:$before in
        run:--check) _eggbox_words "off check sample guard track" "$current" ;;
        run:--sample) _eggbox_words "64k 512k 4m" "$current" ;;
        run:--guard-pages) _eggbox_words "large 1/1000 large,1/1000" "$current" ;;
        report:--format)
            _eggbox_words "folded heaptrack-folded pprof speedscope dhat massif perfetto" "$current"
            ;;
        report:--what) _eggbox_words "leaked in-use allocated peak requests" "$current" ;;
        size:--emit) _eggbox_words "c cpp compat json" "$current" ;;
        report:--fail-above | size:--cover | size:--headroom | size:--name | compare:--runs | compare:--warmup) ;;
        ls:* | gc:*) _eggbox_words "$options" "$current" ;;
        *:--report | *:--html | *:--suppress | *:--check | *:--with | *:--input) _eggbox_files "$current" ;;
        doctor:* | run:* | compare:*)
            case $current in
                -*) _eggbox_words "$options" "$current" ;;
                *) _eggbox_program "$COMP_CWORD" "$current" ;;
            esac
            ;;
        *)
            case $current in
                -*) _eggbox_words "$options" "$current" ;;
                *) _eggbox_files "$current" ;;
            esac
            ;;
    esac
}

complete -F _eggbox eggbox
