"""The Kubernetes programs: one recipe each, and the three ways to have them."""

from __future__ import annotations

import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from .commands import output, say
from .errors import StackError
from .fetch import download, unpack_member
from .gobuild import build_module, module_folder
from .places import STACK, cache, digest

KUBERNETES = "1.36.3"
_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
_LDFLAGS = " ".join(
    f"-X k8s.io/component-base/version.{k}={v}"
    for k, v in (("gitVersion", f"v{KUBERNETES}"), ("gitMajor", "1"), ("gitMinor", "36"))
)


@dataclass(frozen=True)
class Recipe:
    """Programs that come from one module, and where releases of them are published."""

    name: str
    version: str
    commands: dict[str, str]
    ldflags: str = ""
    fetch: Callable[[Recipe, Path], bool] | None = None
    sources: str = ""
    assets: dict[str, str] = field(default_factory=dict)

    def folder(self) -> Path:
        """Return where the programs are kept, another place for every recipe."""
        key = digest([STACK / "go" / self.name, self.ldflags, *self.commands, *self.assets])
        return cache() / "bin" / f"{self.name}-{self.version}-{key}"


def _kubernetes_release(recipe: Recipe, target: Path) -> bool:
    base = f"https://dl.k8s.io/v{recipe.version}/bin/linux/{_ARCH}"
    return all(_program(f"{base}/{name}", target / name, ".sha256") for name in recipe.commands.values())


def _etcd_release(recipe: Recipe, target: Path) -> bool:
    base = f"https://github.com/etcd-io/etcd/releases/download/v{recipe.version}"
    stem = f"etcd-v{recipe.version}-linux-{_ARCH}"
    archive = target / f"{stem}.tar.gz"
    if not download(f"{base}/{archive.name}", archive, f"{base}/SHA256SUMS"):
        return False
    unpack_member(archive, f"{stem}/etcd", target / "etcd")
    archive.unlink()
    return True


def _coredns_release(recipe: Recipe, target: Path) -> bool:
    base = f"https://github.com/coredns/coredns/releases/download/v{recipe.version}"
    archive = target / f"coredns_{recipe.version}_linux_{_ARCH}.tgz"
    if not download(f"{base}/{archive.name}", archive, f"{base}/{archive.name}.sha256"):
        return False
    unpack_member(archive, "coredns", target / "coredns")
    archive.unlink()
    return True


def _program(url: str, target: Path, suffix: str) -> bool:
    if not download(url, target, url + suffix):
        return False
    target.chmod(0o755)
    return True


_OPERATOR = "github.com/kubeflow/training-operator"
_KWOK = "sigs.k8s.io/kwok"
_STAGES = (
    "node/fast/node-initialize",
    "node/heartbeat-with-lease/node-heartbeat-with-lease",
    "pod/fast/pod-ready",
    "pod/fast/pod-complete",
    "pod/fast/pod-delete",
)
RECIPES = {
    r.name: r
    for r in (
        Recipe(
            "kubernetes",
            KUBERNETES,
            {
                f"k8s.io/kubernetes/cmd/{c}": c
                for c in ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl")
            },
            _LDFLAGS,
            _kubernetes_release,
        ),
        Recipe("etcd", "3.7.3", {"go.etcd.io/etcd/server/v3": "etcd"}, fetch=_etcd_release),
        Recipe("coredns", "1.15.0", {"github.com/coredns/coredns": "coredns"}, fetch=_coredns_release),
        Recipe(
            "training-operator",
            "1.9.4",
            {f"{_OPERATOR}/cmd/training-operator.v1": "training-operator"},
            sources=_OPERATOR,
            assets={
                "manifests/base/crds/kubeflow.org_pytorchjobs.yaml": "crd.yaml",
                "manifests/base/rbac/role.yaml": "role.yaml",
            },
        ),
        # Releases of kwok carry no checksum file, so it is always built.
        Recipe(
            "kwok",
            "0.8.0",
            {f"{_KWOK}/cmd/kwok": "kwok"},
            sources=_KWOK,
            assets={f"kustomize/stage/{s}.yaml": s.rsplit("/", 1)[1] + ".yaml" for s in _STAGES},
        ),
    )
}


def ensure(name: str) -> Path:
    """Have the programs of one recipe in the cache; return their folder."""
    recipe = RECIPES[name]
    began = time.monotonic()
    if (recipe.folder() / ".complete").exists():
        say(f"{name} {recipe.version}: already there, in the cache")
        return recipe.folder()
    part = recipe.folder().with_name(recipe.folder().name + f".{os.getpid()}")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    way = _obtain(recipe, part)
    _add_assets(recipe, part)
    (part / ".complete").write_text(way + "\n")
    shutil.rmtree(recipe.folder(), ignore_errors=True)
    part.rename(recipe.folder())
    say(f"{name} {recipe.version}: {way} ({time.monotonic() - began:.1f} s)")
    return recipe.folder()


def _obtain(recipe: Recipe, part: Path) -> str:
    if _copy_installed(recipe, part):
        return "already there, copied from this machine's PATH"
    if recipe.fetch and recipe.fetch(recipe, part):
        return "downloaded"
    build_module(recipe.name, recipe.commands, part, ldflags=recipe.ldflags)
    return "built from its Go module"


def _copy_installed(recipe: Recipe, part: Path) -> bool:
    """Take programs that the machine has in exactly the wanted version, all or none."""
    found = {name: shutil.which(name) for name in recipe.commands.values()}
    for path in found.values():
        if path is None or not _has_version(path, recipe.version):
            return False
    for name, path in found.items():
        shutil.copy2(str(path), part / name)
    return True


def _has_version(path: str, version: str) -> bool:
    arguments = ["version", "--client"] if path.endswith("kubectl") else ["--version"]
    try:
        return version in output([path, *arguments])
    except (StackError, OSError):
        return False


def _add_assets(recipe: Recipe, part: Path) -> None:
    if not recipe.assets:
        return
    folder = module_folder(recipe.name, recipe.sources)
    for path, name in recipe.assets.items():
        shutil.copyfile(folder / path, part / name)
