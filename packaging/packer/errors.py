"""What stops a build."""


class PackerError(Exception):
    """``cause`` is what is wrong, ``cure`` what to do."""

    def __init__(self, cause: str, cure: str) -> None:
        super().__init__(f"{cause}; {cure}")
