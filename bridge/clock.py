"""The two clocks. Decisions use the boot clock, which no administrator and no NTP step can move."""

import time
from pathlib import Path


def now() -> float:
    """Seconds since boot, suspend included (CLOCK_BOOTTIME); the same across a restart of the daemon."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall() -> float:
    """Seconds since the epoch: for people's eyes only."""
    return time.time()


def offset() -> float:
    """Seconds from the boot clock to the calendar, as it is set now."""
    return wall() - now()


def boot_id() -> str:
    """This boot's identity, as the kubelet reports it in nodeInfo.bootID."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
