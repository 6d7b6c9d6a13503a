"""First frames fit their bounds, or are refused."""

from typing import Any

import pytest
from pydantic import ValidationError

from bridge.wire.messages import HookRequest, ScanReply, UserRequest

HOOK: dict[str, Any] = {"v": 1, "phase": "prolog", "bridge": True, "env": {"SLURM_JOB_ID": "7"}}
SCAN: dict[str, Any] = {"v": 1, "kind": "scanned", "id": 1}
USER: dict[str, Any] = {"v": 1, "verb": "attach", "job": 7}


def variables(count: int) -> dict[str, str]:
    """So many variables."""
    return {f"SLURM_{number}": "" for number in range(count)}


@pytest.mark.parametrize(
    ("model", "message", "within", "over"),
    [
        (HookRequest, HOOK, {"env": variables(2000)}, {"env": variables(2001)}),
        (HookRequest, HOOK, {"env": {"S" * 4096: ""}}, {"env": {"S" * 4097: ""}}),
        (HookRequest, HOOK, {"groups": [1] * 65536}, {"groups": [1] * 65537}),
        (HookRequest, HOOK, {"token": "x" * 8192}, {"token": "x" * 8193}),
        (HookRequest, HOOK, {"token_error": "x" * 4096}, {"token_error": "x" * 4097}),
        (HookRequest, HOOK, {"spec": {"path": "x" * 4096}}, {"spec": {"path": "x" * 4097}}),
        (HookRequest, HOOK, {"began": 0.0}, {"began": -1.0}),
        (HookRequest, HOOK, {"marker": {"restart": 0, "start": 0}}, {"marker": {"restart": -1, "start": 0}}),
        (ScanReply, SCAN, {"leftovers": [{"pid": 1}] * 10000}, {"leftovers": [{"pid": 1}] * 10001}),
        (UserRequest, USER, {"after": dict.fromkeys(range(1024), "x")}, {"after": dict.fromkeys(range(1025), "x")}),
        (UserRequest, USER, {"token": "x" * 8192}, {"token": "x" * 8193}),
    ],
)
def test_a_field_over_its_bound_is_refused(model: Any, message: Any, within: Any, over: Any) -> None:
    model.model_validate(message | within)
    with pytest.raises(ValidationError):
        model.model_validate(message | over)


def test_a_value_of_the_environment_may_be_of_any_length() -> None:
    """`slurm.environ` bounds it, with a sentence for its owner."""
    HookRequest.model_validate(HOOK | {"env": {"SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "n" * 1_000_000}})
