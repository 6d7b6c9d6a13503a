"""bash: a function that finds the verb and offers what `compgen` finds."""

from collections.abc import Iterable, Iterator

from bridge.cli.options import Argument, Verb

_PAGE = """# bash completion of bridgectl. Made from the code by `make docs`.
# shellcheck shell=bash

_bridgectl() {{
    local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb='' word words='' files=''
    # bash makes three words of --output=json.
    if [ "$current" = = ]; then
        current=''
    elif [ "$before" = = ]; then
        before=${{COMP_WORDS[COMP_CWORD - 2]}}
    fi
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case "$verb $word" in
{leads}
        esac
    done
    case "$verb $before" in
{values}
    *)
        case "$verb" in
{verbs}
        esac
        ;;
    esac
    COMPREPLY=()
    if [ -n "$words" ]; then
        mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
    fi
    if [ -n "$files" ]; then
        compopt -o filenames 2>/dev/null
        mapfile -t -O "${{#COMPREPLY[@]}}" COMPREPLY < <(compgen -f -- "$current")
    fi
}}

complete -F _bridgectl bridgectl
"""


def script(verbs: Iterable[Verb]) -> str:
    """The whole file, for bash 4 and newer."""
    verbs = tuple(verbs)
    named = [" ".join(verb.words) if verb.words[1:] else f" {verb.words[0]}" for verb in verbs if verb.words]
    leads = f"        {_pattern(named)}) verb=${{verb:+$verb }}$word ;;"
    return _PAGE.format(leads=leads, values="\n".join(_values(verbs)), verbs="\n".join(_verbs(verbs)))


def _values(verbs: Iterable[Verb]) -> Iterator[str]:
    """What may stand behind each option that takes a value; what nobody can know stays empty."""
    found: dict[str, list[str]] = {}
    for verb in verbs:
        for argument in verb.arguments:
            if argument.value:
                found.setdefault(_value(argument), []).extend(
                    f"{' '.join(verb.words)} {flag}" for flag in argument.flags
                )
    for offered, places in found.items():
        if places:
            yield f"    {_pattern(places)}) {offered} ;;"


def _value(argument: Argument) -> str:
    if argument.choices:
        return f"words='{' '.join(argument.choices)}'"
    return "files=1" if argument.is_file else ":"


def _verbs(verbs: tuple[Verb, ...]) -> Iterator[str]:
    for verb in verbs:
        below = [other.words[-1] for other in verbs if other.words and other.words[:-1] == verb.words]
        flags = [flag for argument in verb.arguments for flag in argument.flags]
        operands = [argument for argument in verb.arguments if not argument.flags]
        files = " files=1" if any(argument.is_file for argument in operands) else ""
        yield f"        '{' '.join(verb.words)}') words='{' '.join([*below, *flags, '--help'])}'{files} ;;"


def _pattern(words: Iterable[str]) -> str:
    return " | ".join(f"'{word}'" for word in words)
