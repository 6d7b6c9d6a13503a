"""What of the daemon's libraries is left out of a package, and why that is safe.

bridge/kube/library.py is the only module that imports `kubernetes`, and takes from it the kubeconfig, the
authentication and the connection pool. The rest of that package, nine tenths of all libraries, is a client for each
resource.
"""

from fnmatch import fnmatchcase

# Wheels that nothing but kubernetes.aio imports.
PROJECTS = frozenset(
    (
        "aiohappyeyeballs",
        "aiohttp",
        "aiohttp-retry",
        "aiosignal",
        "attrs",
        "frozenlist",
        "multidict",
        "propcache",
        "yarl",
    )
)

_FILES = (
    "kubernetes/aio/*",  # the same client once more, for asyncio; nothing outside imports it
    "kubernetes/client/api/*",  # loaded by name, at the first use of a class that the bridge never uses
    "kubernetes/client/models/*",  # likewise
    "kubernetes/e2e_test/*",
    "kubernetes/*_test.py",
    "kubernetes/*/test_*.py",
    "websocket/tests/*",
)
_KEPT = ("kubernetes/client/api/__init__.py", "kubernetes/client/models/__init__.py")  # what loads them by name


def is_left_out(path: str) -> bool:
    """Of a file in a wheel."""
    return path not in _KEPT and any(fnmatchcase(path, pattern) for pattern in _FILES)
