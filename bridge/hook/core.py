"""No core dump of a process that holds a token, nor of its children: neither in a file nor through a pipe."""

import resource


def forbid() -> None:
    """0 holds for files alone; 1 is the kernel's own word for a process whose dump goes nowhere (core(5), pipes)."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    limit = 0 if hard == 0 else 1  # it may be lowered, and not raised
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
