"""zsh: a function that finds the verb, and gives the words behind it to `_arguments`."""

from collections.abc import Iterable, Iterator

from bridge.cli.options import Argument, Verb

_PAGE = """#compdef bridgectl
# zsh completion of bridgectl. Made from the code by `make docs`.

_bridgectl() {{
    local verb='' word
    local -i place=1 index
    local -a verbs
    for (( index = 2; index < CURRENT; index++ )); do
        word=$words[index]
        case "$verb $word" in
        ({leads}) verb=${{verb:+$verb }}$word place=$index ;;
        esac
    done
    shift $(( place - 1 )) words
    (( CURRENT -= place - 1 ))
    case $verb in
{verbs}
    esac
}}

_bridgectl "$@"
"""


def script(verbs: Iterable[Verb]) -> str:
    """The whole file, for zsh 5 and newer."""
    verbs = tuple(verbs)
    named = [" ".join(verb.words) if verb.words[1:] else f" {verb.words[0]}" for verb in verbs if verb.words]
    leads = "|".join(map(_quoted, named))
    return _PAGE.format(leads=leads, verbs="\n".join(line for verb in verbs for line in _lines(verb, verbs)))


def _lines(verb: Verb, verbs: Iterable[Verb]) -> Iterator[str]:
    below = [other for other in verbs if other.words and other.words[:-1] == verb.words]
    yield f"    ({_quoted(' '.join(verb.words))})"
    if below:
        yield "        verbs=("
        yield from (f"            {_described(other)}" for other in below)
        yield "        )"
    specs = [spec for argument in verb.arguments for spec in _specs(argument)]
    specs += ["'(- : *)'{-h,--help}'[what it takes]'", *(["'1:verb:{_describe verb verbs}'"] if below else [])]
    yield "        _arguments \\"
    yield " \\\n".join(f"            {spec}" for spec in specs)
    yield "        ;;"


def _described(verb: Verb) -> str:
    return _quoted(f"{verb.words[-1]}:{_escaped(verb.text, ':')}")


def _specs(argument: Argument) -> Iterator[str]:
    if not argument.flags:
        yield _quoted(_value(argument))
        return
    others = "*" if argument.repeats else f"({' '.join(argument.flags)})" if argument.flags[1:] else ""
    for flag in argument.flags:
        yield _quoted(f"{others}{flag}{_sign(flag, argument)}[{_escaped(argument.text, ']')}]{_value(argument)}")


def _sign(flag: str, argument: Argument) -> str:
    """How its value may follow: behind "=" or as the next word; that of one letter directly, too."""
    if not argument.value:
        return ""
    return "=" if flag.startswith("--") else "+"


def _value(argument: Argument) -> str:
    if not argument.value:
        return ""
    offered = f"({' '.join(argument.choices)})" if argument.choices else "_files" if argument.is_file else " "
    return f":{_escaped(argument.value, ':')}:{offered}"


def _escaped(text: str, character: str) -> str:
    return text.replace("\\", "\\\\").replace(character, f"\\{character}")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
