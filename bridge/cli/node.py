"""`bridgectl node`: who a node is in Kubernetes. An admin enrolls and revokes, with a kubeconfig of their own; the node
renews itself, by a timer."""

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from bridge import config, wellknown
from bridge.cli.main import add_config, with_example
from bridge.errors import BridgeError, Invalid, NotFound, RemoteError
from bridge.kube import kubeconfig
from bridge.kube.enrolment import Enrolment, token
from bridge.kube.transport import Transport
from bridge.messages import bridgectl as messages

_PATIENCE = 30.0  # seconds for one call
_HOUR = 3600


def add_arguments(node: argparse.ArgumentParser) -> None:
    """The verbs below `node`."""
    verbs = node.add_subparsers(required=True, metavar="VERB")
    verb = _add(
        verbs,
        "enroll",
        _enroll,
        "admin: give a node its own identity, and print its kubeconfig",
        "bridgectl node enroll n17 --out n17.kubeconfig",
    )
    verb.add_argument("node", metavar="NODE", help="its name in Kubernetes")
    verb.add_argument("--server", help="the API server as nodes reach it (as this kubeconfig says)")
    verb.add_argument("--hours", type=int, default=24, help="life of its token, which the node renews (24)")
    verb.add_argument("--account", default="", metavar="TENANT", help="for namespaces with accounts of their own")
    verb.add_argument("--out", type=Path, help="file for the kubeconfig, mode 0600 (standard output)")
    verb = _add(verbs, "revoke", _revoke, "admin: take a node's identity back, at once", "bridgectl node revoke n17")
    verb.add_argument("node", metavar="NODE", help="its name in Kubernetes")
    _add(verbs, "bind", _bind, "admin: let the enrolled nodes work in namespaces that are new", "bridgectl node bind")
    verb = verbs.add_parser(
        "renew",
        help="on the node, by its timer: a new token, when half of the old one's life is over",
        **with_example("bridgectl node renew --now"),
    )
    add_config(verb)
    verb.add_argument("--now", action="store_true", help="whatever is left of the old one's life")
    verb.set_defaults(command=_renew)


def _add(
    verbs: Any, name: str, command: Callable[[argparse.Namespace], int], text: str, example: str
) -> argparse.ArgumentParser:
    verb: argparse.ArgumentParser = verbs.add_parser(name, help=text, **with_example(example))
    verb.add_argument("--kubeconfig", type=Path, help="of an admin (KUBECONFIG, or ~/.kube/config)")
    verb.set_defaults(command=command)
    return verb


def _enroll(options: argparse.Namespace) -> int:
    server, authority = kubeconfig.address(_of_admin(options))
    with _enrolment(options) as enrolment:
        try:
            made = enrolment.enroll(options.node, options.hours * _HOUR, options.account)
            kubeconfig.claims(made)
        except NotFound as error:
            raise BridgeError(messages.NODE_NOT_ENROLLED.sentence(node=options.node, said=error)) from error
        except (Invalid, ValueError) as error:
            raise BridgeError(messages.TOKEN_UNBOUND.sentence(node=options.node, said=error)) from error
    text = kubeconfig.written(options.server or server, authority, made)
    if options.out is None:
        sys.stdout.write(text)
    else:
        kubeconfig.replace(options.out, text)
    return 0


def _revoke(options: argparse.Namespace) -> int:
    with _enrolment(options) as enrolment:
        enrolment.revoke(options.node)
    return 0


def _bind(options: argparse.Namespace) -> int:
    with _enrolment(options) as enrolment:
        for name in enrolment.bind():
            print(name)
    return 0


def _renew(options: argparse.Namespace) -> int:
    site, code = config.load(options.config), 0
    for path in dict.fromkeys(
        [site.kubernetes.kubeconfig, *(rule.kubeconfig for rule in site.jobs if rule.kubeconfig)]
    ):
        try:
            _renewed(path, options.now)
        except BridgeError as error:  # the others must not wait for it
            print(f"bridgectl: {error}", file=sys.stderr)
            code = wellknown.EXIT_INFRASTRUCTURE
    return code


def _renewed(path: Path, now: bool) -> None:
    server, authority = kubeconfig.address(path)
    old = kubeconfig.bearer(path)
    if not now and not old.is_due(time.time()):
        return
    with closing(Transport(path, _PATIENCE)) as transport:
        try:
            made = token(transport, old.account, old.node, old.uid, old.expires - old.issued)
        except RemoteError as error:
            raise BridgeError(messages.RENEWAL_REFUSED.sentence(node=old.node, said=error)) from error
    kubeconfig.replace(path, kubeconfig.written(server, authority, made))


@contextmanager
def _enrolment(options: argparse.Namespace) -> Iterator[Enrolment]:
    with closing(Transport(_of_admin(options), _PATIENCE)) as transport:
        try:
            yield Enrolment(transport)
        except RemoteError as error:
            raise BridgeError(messages.RIGHTS_NOT_WRITTEN.sentence(said=error)) from error


def _of_admin(options: argparse.Namespace) -> Path:
    named = os.environ.get("KUBECONFIG")
    return options.kubeconfig or Path(named or Path.home() / ".kube" / "config")
