import pytest

from bridge.errors import AllocationError
from bridge.slurm.comment import spec_path, user_part, with_sentence


@pytest.mark.parametrize(
    ("extra", "comment", "path"),
    [
        ("", "", None),
        ("", "k8s=train.yaml", "train.yaml"),
        ("", "hello k8s=a/b.yaml,fsx:1200", "a/b.yaml"),
        ("", "x,k8s=a.yaml", "a.yaml"),
        ("", "x\tk8s=/abs/ä.yaml", "/abs/ä.yaml"),
        ("", "k8s=a=b.yaml", "a=b.yaml"),
        ("", "not-k8s=a.yaml", None),
        ("", "K8S=a.yaml", None),
        ("k8s=extra.yaml", "k8s=comment.yaml", "extra.yaml"),
        ("gpu>1", "k8s=comment.yaml", "comment.yaml"),
        ("", "k8s=a.yaml | k8s: failed", "a.yaml"),
        ("", "k8s: failed", None),
        ("", "k8s: my run k8s=a.yaml", "a.yaml"),
        ("", "note | k8s: see k8s=a.yaml", "a.yaml"),
        ("", "k8s=a.yaml k8s=a.yaml", "a.yaml"),
    ],
)
def test_finds_the_users_token(extra: str, comment: str, path: str | None) -> None:
    assert spec_path(extra, comment) == path


@pytest.mark.parametrize(
    ("extra", "comment", "told"),
    [
        ("", "k8s=", "--comment names no file"),
        ("k8s= x", "", "--extra names no file"),
        ("k8s=,b", "k8s=a.yaml", "--extra names no file"),
        ("", "k8s=a k8s=b", "several spec files"),
    ],
)
def test_refuses_an_unclear_token(extra: str, comment: str, told: str) -> None:
    with pytest.raises(AllocationError, match=told):
        spec_path(extra, comment)


USER_TEXTS = [
    "",
    "k8s=train.yaml",
    "k8s=train.yaml ",
    "two\nlines, k8s=a",
    "pipe | k8s=a.yaml",
    "k8s: my own k8s=a.yaml",
    "mine | k8s: too k8s=a.yaml",
    "ünïcode k8s=ä.yaml",
]


@pytest.mark.parametrize("user", USER_TEXTS)
def test_the_users_words_stay_and_sentences_never_pile_up(user: str) -> None:
    once = with_sentence(user, "2/2 pods ready")
    assert once == (user + " | k8s: 2/2 pods ready" if user else "k8s: 2/2 pods ready")
    assert user_part(once) == user
    assert with_sentence(once, "failed") == once.replace("2/2 pods ready", "failed")


@pytest.mark.parametrize("user", [text for text in USER_TEXTS if "k8s=" in text])
@pytest.mark.parametrize("sentence", ["k8s=evil", "a | k8s: b", "x k8s=evil.yaml | k8s: k8s=evil.yaml", "k8s: k8s: y"])
def test_no_sentence_can_forge_or_hide_a_token(user: str, sentence: str) -> None:
    commented = with_sentence(user, sentence)
    assert spec_path("", commented) == spec_path("", user)
    assert user_part(commented) == user
    assert spec_path("", with_sentence("", sentence)) is None


def test_the_mark_may_come_with_the_sentence() -> None:
    assert with_sentence("a", "k8s: ready") == "a | k8s: ready"


def test_control_characters_become_spaces() -> None:
    assert with_sentence("", "a\nb\0c\x1b[31m\u2028d\u202ee\udce9") == "k8s: a b c [31m d e"


@pytest.mark.parametrize("size", [0, 1, 900, 1010, 1014, 1015, 1016, 1017, 1018, 1024])
def test_cut_to_slurms_bytes_on_a_characters_boundary(size: int) -> None:
    user = "u" * size
    got = with_sentence(user, "ä€😀" * 400)
    assert len(got.encode()) <= 1024
    assert got.startswith(user)
    assert user_part(got) == user
    if size <= 1010:
        assert len(got.encode()) > 1020


def test_a_longer_comment_of_the_user_is_left_alone() -> None:
    assert with_sentence("u" * 2000, "ready") == "u" * 2000
