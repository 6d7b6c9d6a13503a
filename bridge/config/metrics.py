"""Where the daemon's metrics go, for sites that want them."""

from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from bridge.config.address import is_loopback, socket_path
from bridge.config.section import Section


def _checked(address: str) -> str:
    if address.startswith("unix:"):
        path = socket_path(address) or "/"
        if not address.startswith("unix:/") or path.endswith("/") or len(path.encode()) > _LONGEST:
            raise ValueError(f"names no absolute path of a socket of at most {_LONGEST} bytes")
        return address
    try:
        parts = urlsplit(f"//{address}")
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise ValueError(f"is no address ({error})") from error
    if parts.netloc != address or not port or "@" in address:
        raise ValueError("must be HOST:PORT, or unix:/PATH")
    if not is_loopback(host):
        raise ValueError(
            f"would tell {host}'s network about this node; write 127.0.0.1:PORT, and let the site's own proxy or "
            "node exporter carry it further"
        )
    return address


_LONGEST = 107  # sun_path, with its final zero

Listen = Annotated[str, AfterValidator(_checked)]
"""`127.0.0.1:PORT`, `[::1]:PORT` or `unix:/PATH`."""


class Metrics(Section):
    """Without this section the daemon keeps none, and does not even load the library."""

    listen: Listen | None = None
    """Where Prometheus, or a proxy before it, asks for them: loopback, or a UNIX socket that everybody on the node may
    ask, since nothing of a job stands in them. The unit makes /run/slurm-k8s-bridge/metrics for it."""
    textfile_directory: Path | None = None
    """Directory of node exporter's textfile collector: `slurm-k8s-bridge.prom` is written there as a whole. The
    daemon's user must be allowed to write there, as in /run/slurm-k8s-bridge/metrics, which the unit makes."""
    textfile_period: float = Field(default=30.0, ge=1.0)
    """Seconds between two of them."""

    @model_validator(mode="after")
    def _go_somewhere(self) -> Self:
        if self.listen is None and self.textfile_directory is None:
            raise ValueError("write listen or textfile_directory, or leave the section out")
        if self.textfile_directory is not None and not self.textfile_directory.is_absolute():
            raise ValueError("textfile_directory must be an absolute path")
        return self
