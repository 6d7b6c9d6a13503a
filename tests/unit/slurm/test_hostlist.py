"""Every expected list was printed by `scontrol show hostnames` of Slurm 24.11."""

import pytest

from bridge.errors import AllocationError
from bridge.slurm.hostlist import count_list, expand


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ""),
        ("foo", "foo"),
        ("foo,bar", "foo bar"),
        ("b,a", "b a"),
        ("b2,b1", "b2 b1"),
        ("foo[0-5]", "foo0 foo1 foo2 foo3 foo4 foo5"),
        ("n[9-11]", "n9 n10 n11"),
        ("n[09-11]", "n09 n10 n11"),
        ("n[009-11]", "n009 n010 n011"),
        ("n[00-01]", "n00 n01"),
        ("n[1-01]", "n1"),
        ("n[98-101]", "n98 n99 n100 n101"),
        ("n[1,3,5-7]", "n1 n3 n5 n6 n7"),
        ("n[3,1,2]", "n3 n1 n2"),
        ("n[5]", "n5"),
        ("n1[2-3]", "n12 n13"),
        ("[1-3]", "1 2 3"),
        ("n1,n1", "n1 n1"),
        ("n[1,1]", "n1 n1"),
        ("n[1-3,2-4]", "n1 n2 n3 n2 n3 n4"),
        ("n[1-2]-ib", "n1-ib n2-ib"),
        ("n[1-2]3", "n13 n23"),
        ("a-b[1-2].c,d", "a-b1.c a-b2.c d"),
        ("n[1-2],m[3-4]-a,c", "n1 n2 m3-a m4-a c"),
        ("n[1-2][3-4]", "n13 n14 n23 n24"),
        ("n[01-02][3-4],z9", "n013 n014 n023 n024 z9"),
        ("n[1-2]x[3-4]", "n1x3 n1x4 n2x3 n2x4"),
        ("n[1-2]-ib[0-1]-x", "n1-ib0-x n1-ib1-x n2-ib0-x n2-ib1-x"),
        ("a[0-1]b[5-6]c[8-9]", "a0b5c8 a0b5c9 a1b5c8 a1b5c9 a0b6c8 a0b6c9 a1b6c8 a1b6c9"),
        (
            "a[0-1]b[5-6]c[8]d[3-4]",
            "a0b5c8d3 a0b5c8d4 a1b5c8d3 a1b5c8d4 a0b6c8d3 a0b6c8d4 a1b6c8d3 a1b6c8d4",
        ),
        ("n1,,n2", "n1 n2"),
        (",n1", "n1"),
        ("n[1-2],", "n1 n2"),
        (" n1 n2", "n1 n2"),
    ],
)
def test_expands_in_slurms_own_order(text: str, names: str) -> None:
    assert expand(text) == tuple(names.split())


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("n[]", "''"),
        ("n[1", "not closed"),
        ("n1]", "do not match"),
        ("n[[1-2]]", "do not match"),
        ("n[a-b]", "'a-b'"),
        ("n[1-2-3]", "'1-2-3'"),
        ("n[1,,2]", "''"),
        ("n[-3]", "'-3'"),
        ("n[+1-2]", "'+1-2'"),
        ("n[1 ,2]", "'1 '"),
        ("n[0x1-0x2]", "'0x1-0x2'"),
        ("n[2-1]", "2-1 runs backwards"),
        ("n[0-65536]", "65537 hosts"),
        ("n[0-999]x[0-999]", "1000000 hosts"),
        ("n[0-999999999999999999]", "1000000000000000000 hosts"),
        ("n[0-9999999999999999999999]", "'0-9999999999999999999999'"),
        ("n" * 300000, "300000 characters"),
    ],
)
def test_refuses_and_names_the_faulty_part(text: str, part: str) -> None:
    with pytest.raises(AllocationError) as caught:
        expand(text)
    assert part in str(caught.value)
    assert len(str(caught.value)) < 200


def test_a_lower_limit_is_kept() -> None:
    assert len(expand("n[1-8]", limit=8)) == 8
    with pytest.raises(AllocationError, match="9 hosts: at most 8"):
        expand("n[1-9]", limit=8)


@pytest.mark.parametrize(
    ("text", "counts"),
    [("2", (2,)), ("2(x2),1", (2, 2, 1)), ("1,2,3(x3)", (1, 2, 3, 3, 3)), ("64(x4)", (64,) * 4)],
)
def test_counts_are_unfolded(text: str, counts: tuple[int, ...]) -> None:
    assert count_list(text) == counts


@pytest.mark.parametrize("text", ["", "x", "2(x2", "2(x2),", "-1", "2(x99999)", "1(x40000),1(x40000)"])
def test_bad_counts_are_refused(text: str) -> None:
    with pytest.raises(AllocationError):
        count_list(text)
