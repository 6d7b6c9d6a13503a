"""One short sentence for all fields of which the same is to be said."""

from bridge.job.findings import Findings

ROLES = "spec.pytorchReplicaSpecs"


def told(*notices: tuple[str, ...]) -> list[str]:
    findings = Findings()
    for notice in notices:
        findings.notice(*notice)
    return findings.notices


def test_one_field_has_its_own_sentence() -> None:
    assert told(("a.b", "left out", "1"), ("a.c", "became b")) == ["a.b: 1 left out", "a.c: became b"]


def test_fields_of_which_the_same_is_said_share_one() -> None:
    notices = (("a.b", "left out", "1"), ("c", "kept", "3"), ("a.d", "left out", "2"), ("e.f", "left out", "3"))
    assert told(*notices) == ["a.b 1, .d 2, e.f 3: left out", "c: 3 kept"]


def test_keys_in_brackets_may_have_dots() -> None:
    keys = [(f"metadata.labels[a.io/{key}]", "left out", "1") for key in "bc"]
    assert told(*keys) == ["metadata.labels[a.io/b] 1, .labels[a.io/c] 1: left out"]


def test_a_field_without_a_value_does_not_share() -> None:
    assert told(("a", "left out"), ("b", "left out"), ("a", "left out")) == ["a: left out", "b: left out"]


def test_what_both_roles_have_alike_is_there_once() -> None:
    both = [(f"{ROLES}.{role}.restartPolicy", "replaced by Never", "'OnFailure'") for role in ("Master", "Worker")]
    assert told(*both) == [f"{ROLES}.*.restartPolicy: 'OnFailure' replaced by Never"]
    differ = [(f"{ROLES}.{role}.x", "left out", value) for role, value in (("Master", "1"), ("Worker", "2"))]
    assert told(*differ) == [f"{ROLES}.Master.x 1, {ROLES}.Worker.x 2: left out"]


def test_a_long_sentence_becomes_several() -> None:
    sentences = told(*((f"field{n}", "left out", "x" * 50) for n in range(40)))
    assert 4 < len(sentences) < 10
    assert all(len(sentence) < 600 and sentence.endswith(": left out") for sentence in sentences)
    assert sum(sentence.count("field") for sentence in sentences) == 40
