"""Figures as compact SVG text, for pages that need no script."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

from hips.benchmark.document import COLOURS, Curve, Figure

WIDTH, HEIGHT = 560, 330
LEFT, RIGHT, TOP, BOTTOM = 52, 14, 12, 46
MOST_POINTS = 100
MOST_TICKS = 9
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2", "12 4")


def ticks(low: float, high: float, logarithmic: bool) -> list[float]:
    """Round values between two ends: 1, 2 or 5 times a power of ten.

    >>> ticks(10, 100, True), ticks(0, 100, False)
    ([10.0, 20.0, 50.0, 100.0], [0.0, 20.0, 40.0, 60.0, 80.0, 100.0])
    """
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        every = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
        found = [value for value in every if low * 0.999 <= value <= high * 1.001]
        if len(found) > MOST_TICKS:
            found = [value for value in found if math.log10(value).is_integer()]
        return found
    rough = max(high - low, 1e-12) / 6
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power >= rough)
    first = math.ceil(low / step - 1e-9)
    return [round(step * i, 12) for i in range(first, math.floor(high / step + 1e-9) + 1)]


@dataclass(frozen=True, slots=True)
class Axes:
    """The ends of both axes, and which of them are logarithmic."""

    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool
    log_y: bool

    def left(self, value: float) -> float:
        """Horizontal place in pixels."""
        return LEFT + _share(value, self.x, self.log_x) * (WIDTH - LEFT - RIGHT)

    def top(self, value: float) -> float:
        """Vertical place in pixels."""
        return HEIGHT - BOTTOM - _share(value, self.y, self.log_y) * (HEIGHT - TOP - BOTTOM)


def _share(value: float, ends: tuple[float, float], logarithmic: bool) -> float:
    low, high = ends
    if logarithmic:
        return math.log(max(value, low) / low) / math.log(high / low)
    return (value - low) / (high - low)


def draw(figure: Figure) -> str:
    """The figure as an `<svg>` element; its legend tells curves apart by colour and dashes."""
    if not any(curve.x for curve in figure.curves):
        return ""
    axes = _axes(figure)
    parts = [*_grid(figure, axes), *_references(figure, axes)]
    for number, curve in enumerate(figure.curves):
        # Earlier curves are wider, so that one that lies below another still shows.
        width = 1.6 + 0.8 * (len(figure.curves) - 1 - number)
        parts += _curve(figure, curve, axes, min(width, 5.0))
    legend = list(_legend(figure.curves)) if len(figure.curves) > 1 else []
    height = HEIGHT + (18 * len(figure.curves) if legend else 0)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(figure.title)}" '
        f'id="figure-{escape(figure.name)}">{"".join([*parts, *legend])}</svg>'
    )


def _axes(figure: Figure) -> Axes:
    xs = [x for curve in figure.curves for x in curve.x]
    ys = [y for curve in figure.curves for y in (*curve.y, *curve.high)]
    ys += [] if figure.level is None else [figure.level]
    low_x, high_x = (min(xs), max(xs)) if not figure.categories else (-0.4, max(xs) + 0.4)
    if figure.log_x:
        low_x = max(low_x, 1e-3)
    high_x = max(high_x, low_x * 2 if figure.log_x else low_x + 1)
    low_y = max(min(ys), 1e-3) if figure.diagonal else min(0.0, *ys)
    return Axes((low_x, high_x), (low_y, max(*ys, low_y * 2, low_y + 1e-6)),
                figure.log_x, figure.diagonal)  # fmt: skip


def _grid(figure: Figure, axes: Axes) -> Iterator[str]:
    bottom = HEIGHT - BOTTOM
    for y in ticks(*axes.y, axes.log_y):
        place = axes.top(y)
        yield f'<path class="grid" d="M{LEFT} {place:.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text x="{LEFT - 6}" y="{place + 4:.1f}" text-anchor="end">{y:g}</text>'
    named = dict(enumerate(figure.categories))
    places = [float(i) for i in named] or ticks(*axes.x, axes.log_x)
    for x in places:
        text = escape(named[int(x)]) if named else f"{x:,.10g}"
        place = axes.left(x)
        yield f'<path class="tick" d="M{place:.1f} {bottom}v5"/>'
        yield f'<text x="{place:.1f}" y="{bottom + 18}" text-anchor="middle">{text}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield (
        f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(figure.x_label)}</text>'
    )
    yield (
        f'<text transform="translate(12 {bottom / 2}) rotate(-90)" text-anchor="middle">'
        f"{escape(figure.y_label)}</text>"
    )


def _references(figure: Figure, axes: Axes) -> Iterator[str]:
    if figure.level is not None:
        yield f'<path class="tick" d="M{LEFT} {axes.top(figure.level):.1f}H{WIDTH - RIGHT}"/>'
    if figure.diagonal:
        low, high = max(axes.x[0], axes.y[0]), min(axes.x[1], axes.y[1])
        ends = [f"{axes.left(value):.1f} {axes.top(value):.1f}" for value in (low, high)]
        yield f'<path class="tick" d="M{ends[0]}L{ends[1]}"/>'


def _curve(figure: Figure, curve: Curve, axes: Axes, width: float) -> Iterator[str]:
    colour = COLOURS[curve.colour % len(COLOURS)]
    name = f"<title>{escape(curve.name)}</title>"
    if curve.dots:
        for number, (x, y) in enumerate(zip(curve.x, curve.y, strict=True)):
            left = axes.left(x)
            if curve.low:
                ends = axes.top(curve.low[number]), axes.top(curve.high[number])
                yield f'<path stroke="{colour}" d="M{left:.1f} {ends[0]:.1f}V{ends[1]:.1f}"/>'
            place = f'cx="{left:.1f}" cy="{axes.top(y):.1f}"'
            yield f'<circle {place} r="4" fill="{colour}">{name}</circle>'
        return
    kept = _thinned(len(curve.x))
    xs = [axes.left(curve.x[i]) for i in kept]
    if curve.low:
        up = _line(xs, [axes.top(curve.high[i]) for i in kept], figure.steps)
        back = _reversed(xs, [axes.top(curve.low[i]) for i in kept], figure.steps)
        yield f'<path d="{up}{back}Z" fill="{colour}" fill-opacity=".1"/>'
    line = _line(xs, [axes.top(curve.y[i]) for i in kept], figure.steps)
    yield (
        f'<path d="{line}" fill="none" stroke="{colour}" stroke-width="{width:.1f}" '
        f'stroke-dasharray="{DASHES[curve.colour % len(DASHES)]}">{name}</path>'
    )


def _line(xs: Sequence[float], ys: Sequence[float], steps: bool) -> str:
    pieces = [f"M{xs[0]:.1f} {ys[0]:.1f}"]
    for x, y in zip(xs[1:], ys[1:], strict=True):
        pieces.append(f"H{x:.1f}V{y:.1f}" if steps else f"L{x:.1f} {y:.1f}")
    return "".join(pieces)


def _reversed(xs: Sequence[float], ys: Sequence[float], steps: bool) -> str:
    pieces = [f"L{xs[-1]:.1f} {ys[-1]:.1f}"]
    for x, y in zip(xs[-2::-1], ys[-2::-1], strict=True):
        pieces.append(f"V{y:.1f}H{x:.1f}" if steps else f"L{x:.1f} {y:.1f}")
    return "".join(pieces)


def _thinned(count: int) -> list[int]:
    stride = max(1, -(-count // MOST_POINTS))
    return sorted({*range(0, count, stride), count - 1})


def _legend(curves: Sequence[Curve]) -> Iterator[str]:
    for number, curve in enumerate(curves):
        y = HEIGHT + 18 * number + 6
        colour, dash = COLOURS[curve.colour % len(COLOURS)], DASHES[curve.colour % len(DASHES)]
        yield f'<path d="M{LEFT} {y}h28" stroke="{colour}" stroke-width="3" '
        yield f'stroke-dasharray="{dash}"/>'
        yield f'<text x="{LEFT + 36}" y="{y + 4}">{escape(curve.name)}</text>'
