"""Charts as SVG text, drawn for a page that has no script and no network. Colours are the page's CSS variables."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

WIDTH = 760
_LEFT, _RIGHT, _TOP, _BOTTOM = 200, 56, 14, 40
_MOST_LABEL = 30  # characters that fit to the left of a bar
_ROW = 17
_HEIGHT = 300
SERIES = 8  # colours that the page has


class Bar(NamedTuple):
    """A value with its interval; low and high are the value where there is none."""

    label: str
    value: float
    low: float
    high: float


class Point(NamedTuple):
    """A place on a plane; the label is written beside it."""

    label: str
    x: float
    y: float


def bars(series: dict[str, list[Bar]], *, top: float | None = None, digits: int = 3) -> str:
    """Horizontal bars by label, one colour for each series, whiskers for the intervals.

    Args:
        series: name -> bars; labels may be missing in some.
        top: the value of a full bar; None: the largest.
    """
    labels = list(dict.fromkeys(bar.label for bars_ in series.values() for bar in bars_))
    full = top or max((bar.high for bars_ in series.values() for bar in bars_), default=1) or 1
    by_label = {name: {bar.label: bar for bar in bars_} for name, bars_ in series.items()}
    step = _ROW * len(series) + 8
    parts, y = [], _TOP
    for label in labels:
        short = label if len(label) <= _MOST_LABEL else label[: _MOST_LABEL - 1] + "…"
        parts.append(_text(_LEFT - 8, y + step / 2, short, anchor="end"))
        for index, bars_ in enumerate(by_label.values()):
            if bar := bars_.get(label):
                parts.append(_bar(bar, y + index * _ROW, full, index, digits))
        y += step
    return _svg("".join(parts), y + 6) + _legend(list(series))


def scatter(series: dict[str, list[Point]], *, x_title: str, y_title: str) -> str:
    """Points on a plane with a logarithmic x axis and y from 0 to 1."""
    xs = [point.x for points in series.values() for point in points if point.x > 0]
    low, high = _decades(xs)
    parts = [_frame(low, high, 0, 1, x_title, y_title, x_log=True)]
    for index, points in enumerate(series.values()):
        for point in points:
            x, y = _x_log(max(point.x, 10**low), low, high), _y(point.y, 0, 1)
            tip = f"<title>{escape(point.label)}: {point.x:,.0f}, {point.y:.3f}</title>"
            parts.append(f'<circle class="s{index % SERIES}" cx="{x:.1f}" cy="{y:.1f}" r="5">{tip}</circle>')
            parts.append(_text(x + 8, y + 4, point.label))
    return _svg("".join(parts), _HEIGHT) + _legend(list(series))


def lines(series: dict[str, list[Point]], *, x_title: str, y_title: str) -> str:
    """A line for each series; both axes logarithmic."""
    points = [point for points in series.values() for point in points]
    (x_low, x_high), (y_low, y_high) = _decades([point.x for point in points]), _decades([point.y for point in points])
    parts = [_frame(x_low, x_high, y_low, y_high, x_title, y_title, x_log=True, y_log=True)]
    for index, (name, line) in enumerate(series.items()):
        places = [
            (_x_log(point.x, x_low, x_high), _y(math.log10(max(point.y, 10**y_low)), y_low, y_high))
            for point in sorted(line, key=lambda point: point.x)
        ]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        parts.append(f'<polyline class="l{index % SERIES}" points="{path}"/>')
        for (x, y), point in zip(places, sorted(line, key=lambda point: point.x), strict=True):
            tip = f"<title>{escape(name)}: {point.x:g}, {point.y:.3g}</title>"
            parts.append(f'<circle class="s{index % SERIES}" cx="{x:.1f}" cy="{y:.1f}" r="4">{tip}</circle>')
    return _svg("".join(parts), _HEIGHT) + _legend(list(series))


def _bar(bar: Bar, y: float, full: float, index: int, digits: int) -> str:
    scale = (WIDTH - _LEFT - _RIGHT) / full
    length, low, high = (max(0.0, min(value, full)) * scale for value in (bar.value, bar.low, bar.high))
    middle = y + _ROW / 2
    shown = f"{bar.value:.{digits}f}"
    rect = f'<rect class="s{index % SERIES}" x="{_LEFT}" y="{y + 2:.1f}" width="{length:.1f}" height="{_ROW - 4}"/>'
    whisker = (
        f'<line class="whisker" x1="{_LEFT + low:.1f}" y1="{middle:.1f}" x2="{_LEFT + high:.1f}" y2="{middle:.1f}"/>'
        if bar.high > bar.low
        else ""
    )
    tip = f"<title>{escape(bar.label)}: {shown}</title>"
    return f"<g>{tip}{rect}{whisker}{_text(_LEFT + max(length, high) + 5, middle + 4, shown)}</g>"


def _frame(
    x_low: float,
    x_high: float,
    y_low: float,
    y_high: float,
    x_title: str,
    y_title: str,
    *,
    x_log: bool = False,
    y_log: bool = False,
) -> str:
    """Axes with ticks: at each decade of a logarithmic axis, else at each fifth."""
    parts = []
    for tick in range(int(x_low), int(x_high) + 1) if x_log else ():
        x = _x_log(10**tick, x_low, x_high)
        parts.append(f'<line class="grid" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{_HEIGHT - _BOTTOM}"/>')
        parts.append(_text(x, _HEIGHT - _BOTTOM + 15, f"{10**tick:,g}", anchor="middle"))
    ticks = range(int(y_low), int(y_high) + 1) if y_log else [y_low + (y_high - y_low) * step / 5 for step in range(6)]
    for value in ticks:
        y = _y(value, y_low, y_high)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(_text(_LEFT - 8, y + 4, f"{10**value:g}" if y_log else f"{value:.1f}", anchor="end"))
    parts.append(_text((_LEFT + WIDTH - _RIGHT) / 2, _HEIGHT - 6, x_title, anchor="middle"))
    parts.append(_text(8, _TOP + 10, y_title))
    return "".join(parts)


def _decades(values: list[float]) -> tuple[float, float]:
    """Powers of ten that enclose the values."""
    positive = [value for value in values if value > 0] or [1.0]
    low, high = math.floor(math.log10(min(positive))), math.ceil(math.log10(max(positive)))
    return low, max(high, low + 1)


def _x_log(value: float, low: float, high: float) -> float:
    return _LEFT + (math.log10(value) - low) / (high - low) * (WIDTH - _LEFT - _RIGHT)


def _y(value: float, low: float, high: float) -> float:
    return _HEIGHT - _BOTTOM - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _legend(names: list[str]) -> str:
    if len(names) < 2:
        return ""
    items = "".join(f'<span class="k{index % SERIES}">{escape(name)}</span>' for index, name in enumerate(names))
    return f'<p class="legend">{items}</p>'


def _svg(body: str, height: float) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img">{body}</svg>'
