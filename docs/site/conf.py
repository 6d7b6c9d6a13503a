"""The documents as a site: `make site`. Each warning is an error, such as a link or an anchor that leads nowhere."""

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "slurm-k8s-bridge"
author = "the slurm-k8s-bridge authors"
extensions = ["myst_parser"]
root_doc = "docs/index"
include_patterns = ["*.md", "docs/**.md", "tests/*/*.md", "packaging/*/README.md"]
myst_heading_anchors = 4  # named as other viewers of Markdown name them
html_theme = "furo"
html_title = project
html_copy_source = False
html_show_copyright = False

_LINK = re.compile(r"\[([^\]]+)\]\(([^)#\s]+)\)")


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)


def _read(app: Sphinx, document: str, source: list[str]) -> None:
    if document == root_doc:
        source[0] += _menu(source[0])
    source[0] = _without_folders(source[0], Path(app.srcdir, document).parent)


def _menu(index: str) -> str:
    """The site's menu is what the index lists, under its own heads."""
    parts = ["", *re.split(r"^## (.+)$", index, flags=re.MULTILINE)]
    menu = ""
    for head, text in zip(parts[::2], parts[1::2], strict=True):
        pages = "\n".join(path.removesuffix(".md") for _, path in _LINK.findall(text))
        caption = f":caption: {head}\n" if head else ""
        menu += f"\n```{{toctree}}\n:hidden:\n{caption}\n{pages}\n```\n"
    return menu


def _without_folders(text: str, here: Path) -> str:
    """A folder of the checkout is no page: the words of a link to one stay."""
    return _LINK.sub(lambda found: found[1] if (here / found[2]).is_dir() else found[0], text)
