"""fish: a line for each thing that may be completed, and where."""

from collections.abc import Iterable, Iterator

from bridge.cli.options import Argument, Verb

_HEAD = """# fish completion of bridgectl. Made from the code by `make docs`.

set -g __bridgectl_verbs {verbs}

function __bridgectl_at --description 'whether the words so far lead to this verb'
    set -l words (commandline -opc)
    set -e words[1]
    set -l verb ''
    for word in $words
        set -l longer (string trim -- "$verb $word")
        contains -- $longer $__bridgectl_verbs; and set verb $longer
    end
    test "$verb" = "$argv"
end

complete -c bridgectl -f
"""


def script(verbs: Iterable[Verb]) -> str:
    """The whole file, for fish 3 and newer."""
    verbs = tuple(verbs)
    named = " ".join(_quoted(" ".join(verb.words)) for verb in verbs if verb.words)
    return _HEAD.format(verbs=named) + "".join(f"{line}\n" for verb in verbs for line in _lines(verb, verbs))


def _lines(verb: Verb, verbs: Iterable[Verb]) -> Iterator[str]:
    where = f"complete -c bridgectl -n '__bridgectl_at {' '.join(verb.words)}'"
    for other in verbs:
        if other.words and other.words[:-1] == verb.words:
            yield f"{where} -a {other.words[-1]} -d {_quoted(other.text)}"
    for argument in verb.arguments:
        if argument.flags:
            yield f"{where} {' '.join(map(_flag, argument.flags))}{_value(argument)} -d {_quoted(argument.text)}"
        elif argument.is_file:
            yield f"{where} -F"
    yield f"{where} -s h -l help -d 'what it takes'"


def _flag(flag: str) -> str:
    return f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"


def _value(argument: Argument) -> str:
    if not argument.value:
        return ""
    if argument.choices:
        return f" -x -a {_quoted(' '.join(argument.choices))}"
    return " -r -F" if argument.is_file else " -x"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
