"""Stacks as a flame graph: one SVG, wide frames are much."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html import escape

_WIDTH, _ROW, _LETTER = 1200.0, 17, 6.6
_LEAST = 0.5  # pixels of a frame that is shown

Stack = tuple[str, ...]


@dataclass
class _Frame:
    name: str
    amount: float = 0.0
    inner: dict[str, "_Frame"] = field(default_factory=dict)


def svg(title: str, unit: str, stacks: Mapping[Stack, float]) -> str:
    """Of amounts by stack, the outermost frame first."""
    root = _Frame(title)
    for stack, amount in stacks.items():
        _add(root, stack, amount)
    boxes = list(_boxes(root, 0.0, 0, _WIDTH / root.amount if root.amount else 0.0))
    height = (max((depth for *_, depth in boxes), default=0) + 1) * _ROW
    drawn = "\n".join(_drawn(frame, left, width, depth, unit) for frame, left, width, depth in boxes)
    style = "text{font:11px monospace}rect{stroke:#fff;stroke-width:.5}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:.0f} {height}" width="{_WIDTH:.0f}">'
    return f"{head}\n<style>{style}</style>\n{drawn}\n</svg>\n"


def _add(root: _Frame, stack: Stack, amount: float) -> None:
    root.amount += amount
    frame = root
    for name in stack:
        frame = frame.inner.setdefault(name, _Frame(name))
        frame.amount += amount


def _boxes(frame: _Frame, left: float, depth: int, scale: float) -> Iterator[tuple[_Frame, float, float, int]]:
    width = frame.amount * scale
    if width < _LEAST:
        return
    yield frame, left, width, depth
    for inner in sorted(frame.inner.values(), key=lambda each: -each.amount):
        yield from _boxes(inner, left, depth + 1, scale)
        left += inner.amount * scale


def _drawn(frame: _Frame, left: float, width: float, depth: int, unit: str) -> str:
    top, room = depth * _ROW, int(width / _LETTER)
    name = frame.name if len(frame.name) <= room else frame.name[-room + 1 :] if room > 4 else ""  # a path's end tells
    colour = f"hsl({30 + sum(frame.name.encode()) % 25},80%,{62 + len(frame.name) % 14}%)"
    text = f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(name)}</text>' if name else ""
    told = f"<title>{escape(frame.name)}: {frame.amount:.3g} {escape(unit)}</title>"
    box = f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{_ROW - 1}" fill="{colour}"/>'
    return f"<g>{told}{box}{text}</g>"
