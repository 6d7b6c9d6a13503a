"""The metrics as a file for node exporter's textfile collector, for sites where nobody asks the daemon itself."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import structlog

from bridge.metrics.serving import Render
from bridge.wellknown import METRICS_FILE

log = structlog.get_logger()


class Textfile:
    """A thread of its own that writes the file again and again, each time as a whole."""

    def __init__(self, directory: Path, period: float, render: Render) -> None:
        self._path = directory / METRICS_FILE
        self._period = period
        self._render = render
        self._stopping = threading.Event()
        self._failed = False
        self._thread = threading.Thread(target=self._keep_on, name="textfile", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """The file goes: what nobody renews must not pass for what is now."""
        self._stopping.set()
        self._thread.join()
        with suppress(OSError):
            self._path.unlink()

    def write(self) -> bool:
        """Once; whether it could be done."""
        # A leading dot and another ending: the collector reads *.prom.
        fresh = self._path.with_name(f".{self._path.name}.new")
        try:
            fresh.unlink(missing_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o644)  # whatever the unit's umask: node exporter is another user
                file.write(self._render())
            fresh.replace(self._path)
        except OSError as error:
            self._complain(error)
            return False
        self._failed = False
        return True

    def _keep_on(self) -> None:
        self.write()
        while not self._stopping.wait(self._period):
            self.write()

    def _complain(self, error: OSError) -> None:
        if not self._failed:  # once, not at every try
            log.warning("metrics_unwritten", path=str(self._path), error=str(error))
        self._failed = True
