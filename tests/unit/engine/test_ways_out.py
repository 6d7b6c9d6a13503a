"""Who of daemon and hook reaches out of its process: each such module is behind a failpoint, or says why not."""

import ast
from collections.abc import Collection
from pathlib import Path

from tests.failpoints.failpoint import PLACES
from tests.failpoints.hooks import PLACES as HOOK_PLACES

_ROOT = Path(__file__).parents[3]
_MODULES = {"http", "httpx", "kubernetes", "pwd", "selectors", "socket", "sqlite3", "ssl", "subprocess", "urllib3"}
_CALLS = {"open", "read_bytes", "read_text", "rename", "statvfs", "unlink", "write_text"}
_OF_OS = {"execve", "fork", "link", "listdir", "mkdir", "stat", "write"}  # the hook has no pathlib
_OTHERS = ("cli", "doctor", "hook")  # processes of their own

BEHIND = {
    "bridge/kube/kubelet.py": "kubelet.",
    "bridge/kube/library.py": "kubernetes.",
    "bridge/kube/logs.py": "kubernetes.follow_log",
    "bridge/kube/standing.py": "kubernetes.",
    "bridge/kube/watch.py": "kubernetes.watch_",
    "bridge/slurmrest/client.py": "slurmrest.",
    "bridge/slurmrest/way.py": "slurmrest.",
    "bridge/store/journal.py": "journal.",
    "bridge/engine/desk.py": "reply.",
    "bridge/wire/frames.py": "reply.",
    "bridge/wire/server.py": "reply.",
}
NONE = {
    "bridge/clock.py": "the kernel's boot id, read once",
    "bridge/commands.py": "doctor's and bridgectl's",
    "bridge/config/__init__.py": "bridge.toml, read before anything begins",
    "bridge/daemon.py": "its own host name",
    "bridge/disks.py": "a file system's free blocks: a look, which is told or not and changes nothing",
    "bridge/engine/adoption.py": "a user's name, for a run that lost its journal",
    "bridge/kube/kubeconfig.py": "read again with each failed credential; a call of kubernetes fails without it",
    "bridge/logs.py": "the log's own socket",
    "bridge/metrics/reading.py": "metrics: nothing of a run depends on them",
    "bridge/metrics/serving.py": "metrics",
    "bridge/metrics/tally.py": "metrics",
    "bridge/metrics/textfile.py": "metrics",
    "bridge/sdnotify.py": "a word to systemd, which is not waited for",
    "bridge/slurmrest/service.py": "read again with each call; a call of slurmrest fails without it",
    "bridge/wire/client.py": "bridgectl's side",
    "bridge/wire/peercred.py": "the kernel's word on who has connected",
}

HOOK_BEHIND = {
    "account.py": "hook.account.look_up",
    "conversation.py": "hook.daemon.ask",
    "markers.py": "hook.marker.write",
    "mounts.py": "hook.node.scan",
    "output.py": "hook.output.append",
    "scan.py": "hook.node.scan",
    "spec_reader.py": "hook.spec.read",
    "timeline.py": "hook.timeline.leave",
}
HOOK_NONE = {
    "child.py": "makes the children of the others, and reads their descriptors",
    "client.py": "its last words to slurmd, which logs them",
}


def test_each_module_that_reaches_out_is_behind_a_failpoint_or_says_why_not() -> None:
    assert _that_reach_out() == BEHIND.keys() | NONE.keys()
    assert not BEHIND.keys() & NONE.keys()


def test_each_is_behind_places_that_there_are() -> None:
    assert not [module for module, start in BEHIND.items() if not any(place.startswith(start) for place in PLACES)]


def test_each_module_of_the_hook_that_reaches_out_is_behind_a_failpoint_or_says_why_not() -> None:
    assert _of_the_hook() == HOOK_BEHIND.keys() | HOOK_NONE.keys()
    assert not HOOK_BEHIND.keys() & HOOK_NONE.keys()
    assert set(HOOK_BEHIND.values()) <= HOOK_PLACES.keys()


def _that_reach_out() -> set[str]:
    files = sorted((_ROOT / "bridge").rglob("*.py"))
    daemons = [file for file in files if file.relative_to(_ROOT).parts[1] not in _OTHERS]
    return {str(file.relative_to(_ROOT)) for file in daemons if _reaches_out(ast.parse(file.read_text()))}


def _of_the_hook() -> set[str]:
    files = (_ROOT / "bridge" / "hook").glob("*.py")
    return {file.name for file in files if _reaches_out(ast.parse(file.read_text()), _CALLS | _OF_OS)}


def _reaches_out(tree: ast.Module, calls: Collection[str] = _CALLS) -> bool:
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names) if _MODULES & {name.name.partition(".")[0] for name in names}:
                return True
            case ast.ImportFrom(module=str(module), level=0) if module.partition(".")[0] in _MODULES:
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in calls:
                return True
    return False
