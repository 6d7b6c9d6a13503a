import time
from typing import Any

import pytest

from bridge.errors import SpecError
from bridge.job.document import load as load_all


def load(data: bytes) -> dict[str, Any]:
    (document,) = load_all(data)
    return document


def refusal(data: bytes) -> str:
    with pytest.raises(SpecError) as caught:
        load(data)
    assert len(caught.value.reasons) == 1
    return caught.value.reasons[0]


def test_reads_json_types_only() -> None:
    text = b"a: 2024-01-01\nb: 1:30\nc: 0x10\nd: 1.5\ne: yes\nf: ~\ng: 'x'\nh: 1e3\ni: =\nj: -7\nk: 007\n"
    assert load(text) == {
        "a": "2024-01-01",
        "b": "1:30",
        "c": 16,
        "d": 1.5,
        "e": True,
        "f": None,
        "g": "x",
        "h": "1e3",
        "i": "=",
        "j": -7,
        "k": 7,
    }


def test_reads_json_anchors_merges_and_a_byte_order_mark() -> None:
    assert load(b'{"a": [1, "b"]}') == {"a": [1, "b"]}
    assert load(b"\xef\xbb\xbfa: &x {k: 1}\nb: *x\nc: {<<: *x, l: 2}\n") == {
        "a": {"k": 1},
        "b": {"k": 1},
        "c": {"k": 1, "l": 2},
    }


def test_every_document_is_read() -> None:
    assert load_all(b"a: 1\n---\nb: &x 2\nc: *x\n") == [{"a": 1}, {"b": 2, "c": 2}]


def test_empty_documents_do_not_count() -> None:
    assert load(b"---\n# nothing\n---\na: 1\n---\n") == {"a": 1}


LAUGHS = b"a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + b"".join(
    b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 9)
)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"---\n---\n", "is empty"),
        (b"- a\n", "is not an object"),
        (b"just text", "is not an object"),
        (b"a: [1, 2\nb: 3\n", "line 2: is not YAML"),
        (b"a:\n\t- b\n", "line 2: is not YAML"),
        (b"\x7fELF\x01", "is not YAML text"),
        (b"a: 1\nb: \xff\n", "line 2: is not UTF-8"),
        (b"\xff\xfea\x00", "NUL byte"),
        (b"a: 1\n\0", "line 2: holds a NUL byte"),
        (b'a: 1\nb: "x\\0y"\n', "line 2: holds a NUL character"),
        (b"a: 1\nb: 2\na: 3\n", "line 3: a stands there twice"),
        (b"a:\n  - b: 1\n    b: 2\n", "line 3: b stands there twice"),
        (b"a: 1\n---\n- b\n", "is not an object"),
        (b"a: 1\n---\nb: [" + b"1," * 30000 + b"]", "more than 20000 values"),
        (b"on: 1\n", 'line 1: the key on is not text; write it as "on"'),
        (b"1: 1\n", 'write it as "1"'),
        (b"? [a]\n: 1\n", "line 1: a key is a list"),
        (b"a: !!python/object/apply:os.system [ls]\n", "line 1: the tag"),
        (b"a: !!str 1\n", "line 1: the tag"),
        (b"a: !x 1\n", "line 1: the tag !x"),
        (b"a: &x [*x]\n", "*x stands for nothing"),
        (b"a: *nowhere\n", "*nowhere stands for nothing"),
        (b"a: [" + b"[" * 5000, "nested deeper than 32"),
        (b"a: [" + b"1," * 30000 + b"]", "more than 20000 values"),
        (b"a: &x 1\nb: [" + b"*x," * 300 + b"]", "more than 200 aliases"),
        (LAUGHS, "more than 20000 values"),
        (b"a: " + b"9" * 5000, "JSON has no form for"),
        (b"a: 1.0e999", "JSON has no form for"),
        (b"a: x\n" * 300000, "1500000 bytes"),
        (b"a: " + b"x" * 1100000, "at most 1048576"),
    ],
)
def test_refuses_in_one_sentence(data: bytes, told: str) -> None:
    sentence = refusal(data)
    assert told in sentence
    assert "\n" not in sentence
    assert len(sentence) < 220


def test_a_bomb_is_refused_at_once() -> None:
    began = time.monotonic()
    refusal(LAUGHS)
    refusal(b"[" * 1_000_000)
    refusal(b"a: [" + b"1," * 400_000 + b"]")
    assert time.monotonic() - began < 2
