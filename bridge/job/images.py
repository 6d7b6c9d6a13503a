"""Where an image comes from on this site: its name with another beginning, by the site's mirrors."""

from collections.abc import Mapping

_HUB = "docker.io"


def mirrored(image: str, mirrors: Mapping[str, str]) -> str:
    """The name under which the site has the image; as it is where no mirror fits."""
    full = _in_full(image)
    fitting = [prefix for prefix in mirrors if _begins_with(full, prefix)]
    if not fitting:
        return image
    longest = max(fitting, key=len)
    return mirrors[longest] + full.removeprefix(longest)


def _in_full(image: str) -> str:
    """With the registry, as container runtimes fill it in: `busybox` is docker.io/library/busybox."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{_HUB}/{image}" if slash else f"{_HUB}/library/{image}"


def _begins_with(image: str, prefix: str) -> bool:
    """By whole parts: `nvcr.io/nv` is no beginning of `nvcr.io/nvidia/pytorch`."""
    return image.startswith(prefix) and image[len(prefix) : len(prefix) + 1] in ("", "/", ":", "@")
