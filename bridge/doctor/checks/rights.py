"""Every verb that the daemon needs, by the table that rbac/ is compared with."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from bridge import wellknown
from bridge.doctor.check import Check, Told
from bridge.doctor.place import Place
from bridge.kube.inquiry import Inquiry
from bridge.kube.rights import RIGHTS, Right, Scope
from bridge.messages import doctor_kubernetes as kubernetes_messages


@dataclass(frozen=True)
class Review:
    """What the API server says of one right; ``namespace`` '' for the cluster."""

    right: Right
    namespace: str
    allowed: bool


def look(place: Place) -> tuple[Review, ...]:
    own = place.site.kubernetes.namespace
    found = [*_reviews(place.kubernetes, own, tuple(Scope))]
    for namespace in place.site.namespaces[1:]:
        other = place.site.kubeconfig_of(namespace)
        if other is None:
            found += _reviews(place.kubernetes, namespace, (Scope.JOBS,))
        else:
            with closing(place.kubernetes_by(other)) as inquiry:
                found += _reviews(inquiry, namespace, (Scope.JOBS,))
    return tuple(found)


def _reviews(inquiry: Inquiry, namespace: str, scopes: tuple[Scope, ...]) -> Iterator[Review]:
    where = {Scope.JOBS: namespace, Scope.OWN: wellknown.ACCOUNTS, Scope.CLUSTER: ""}
    for right in RIGHTS:
        if right.scope in scopes:
            yield Review(right, where[right.scope], inquiry.may(right, where[right.scope]))


def judge(facts: tuple[Review, ...]) -> Iterator[Told]:
    for review in facts:
        if not review.allowed:
            right = review.right
            what = f"{right.verb} {right.resource}" + (f".{right.group}" if right.group else "")
            where = f"in namespace {review.namespace}" if review.namespace else "in the cluster"
            yield kubernetes_messages.RIGHT_MISSING.told(what=what, where=where, why=right.why)


CHECK = Check("rights", "each verb of the table of rights, by SelfSubjectAccessReview", look, judge)
