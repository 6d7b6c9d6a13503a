"""A kubelet on loopback, behind the Protocol of `bridge.kube.api`."""


class FakeKubelet:
    """Well, until ``fault`` says why not."""

    def __init__(self) -> None:
        self.fault = ""
        self.asked = 0

    def complaint(self) -> str:
        self.asked += 1
        return self.fault
