"""The job's word and the first node, in agreement with the daemon's own readers."""

import pytest

from bridge.hook import word
from bridge.hook.job import Job
from bridge.slurm import comment as daemon


@pytest.mark.parametrize(
    ("extra", "comment", "path"),
    [
        ("", "k8s=train.yaml", "train.yaml"),
        ("", "a, b,k8s=/x/y.yaml,c", "/x/y.yaml"),
        ("", "a\tk8s=y\nc", "y"),
        ("k8s=extra", "k8s=comment", "extra"),
        ("other=1", "k8s=comment", "comment"),
        ("", "notk8s=x", None),
        ("", "K8S=x", None),
        ("", "", None),
        ("", "k8s: 2/2 pods ready", None),
        ("", "k8s=a | k8s: 2/2 pods ready", "a"),
        ("", "mine | k8s: failed", None),
        ("", "x | k8s: b k8s=a", "a"),
        ("", "x | k8s: k8s=a", "a"),
    ],
)
def test_both_sides_find_the_same_path(extra: str, comment: str, path: str | None) -> None:
    assert word.spec_path(extra, comment) == path
    assert daemon.spec_path(extra, comment) == path


def test_the_hook_takes_each_field_for_what_it_is() -> None:
    assert Job({b"SLURM_JOB_COMMENT": b"k8s=comment", b"SLURM_JOB_EXTRA": b"k8s=extra"}).spec == b"extra"


def test_a_word_without_a_path_is_still_ours() -> None:
    assert word.spec_path("", "k8s=") == ""


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("n1", "n1"),
        ("n[1-2]", "n1"),
        ("n[03,01-02],a1", "n03"),
        ("b,a", "b"),
        ("r[1-2]n[07-09]-ib,x", "r1n07-ib"),
        ("", ""),
        ("n[", "n"),
    ],
)
def test_first_node(nodes: str, first: str) -> None:
    assert word.first_node(nodes) == first


def test_printable() -> None:
    assert word.printable("a\x1b\nb\udcff") == "a??b?"
    assert len(word.printable("x" * 500)) == 300
