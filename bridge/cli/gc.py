"""`bridgectl gc`: what is left of runs on this node, in words, and whether somebody has to do something."""

from typing import Any

from bridge.messages import bridgectl as messages

LEFT = 1  # exit code: something is left that only a person can judge, or that could not be deleted


_LEFT_OF_RUNS = {
    "orphans": "orphaned workloads",
    "unconfirmed": "unconfirmed workloads",
    "strays": "pods of released runs",
}


def tell(answer: dict[str, Any], dry_run: bool) -> None:
    """Print the daemon's answer: a line for each workload, then what was done and what is to be done."""
    for row in answer["workloads"]:
        print(f"{row['workload']}: {_state(row, dry_run)}: {row['why']}{_name(row)}")
        if row["cure"]:
            print(f"    {row['cure']}")
    if answer["more"]:
        print(f"and {answer['more']} more, which come when these have gone")
    for item in answer["deleted"]:
        print(f"{item['workload']}: deleted: {item['why']}")
    for stray in answer["strays"]:
        print(messages.STRAY_POD.sentence(pod=stray["pod"], uid=stray["uid"]))
    for fault in answer["faults"]:
        print(f"fault: {fault}")
    if not answer["workloads"] and not answer["deleted"]:
        print("no workload has its batch node here")
    if dry_run and _orphans(answer):
        print("orphans go by themselves; `bridgectl gc` confirms them once more and deletes them now")


def tell_summary(found: dict[str, Any]) -> None:
    """Print for `status` what the reconciler saw at its last look, where there is anything to say."""
    left = [f"{words}: {found[name]}" for name, words in _LEFT_OF_RUNS.items() if found[name]]
    if left:
        print(f"left of runs: {', '.join(left)}; see bridgectl gc --dry-run")
    for fault in found.get("details", {}).get("faults", []):
        print(f"reconciler: {fault}")
    for item in found.get("details", {}).get("deleted", []):
        print(f"orphan {item['workload']} deleted {item['seconds_ago']:.0f} s ago: {item['why']}")


def exit_code(answer: dict[str, Any], dry_run: bool) -> int:
    """0, or LEFT. Orphans that a dry run shows go by themselves."""
    unconfirmed = any(row["state"] == "unconfirmed" for row in answer["workloads"])
    undeleted = bool(_orphans(answer)) and not dry_run
    return LEFT if unconfirmed or undeleted or answer["strays"] or answer["faults"] else 0


def _state(row: dict[str, Any], dry_run: bool) -> str:
    waits = dry_run and row["deleted_in"] is not None
    return f"orphan, deleted in {row['deleted_in']:.0f} s" if waits else str(row["state"])


def _name(row: dict[str, Any]) -> str:
    """Of its message, which an older daemon does not tell."""
    return f" [{row['message']}]" if row.get("message") else ""


def _orphans(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [row for row in answer["workloads"] if row["state"] == "orphan"]
