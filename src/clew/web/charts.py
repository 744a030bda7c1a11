"""Charts of the progress page as SVG: one statement, one figure on the thread each.

Positions are percentages of the width, so that a chart fits any column without a script.
"""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape


def _svg(height: int, label: str, parts: Sequence[str]) -> Markup:
    body = "".join(parts)
    return Markup(
        f'<svg class="plot" height="{height}" role="img" aria-label="{escape(label)}">{body}</svg>'
    )


def _text(x: float, y: float, words: str) -> str:
    is_late = x > 96 or (x > 60 and len(words) > 5)  # long words do not run into the last ones
    anchor = "start" if x < 4 else "end" if is_late else "middle"
    x = max(0.0, min(100.0, x))
    return f'<text x="{x:.1f}%" y="{y}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(x1: float, x2: float, y1: float, y2: float, cls: str) -> str:
    return f'<line class="{cls}" x1="{x1:.2f}%" x2="{x2:.2f}%" y1="{y1}" y2="{y2}"/>'


def remaining_chart(answered: int, low: int, median: int, high: int, label: str) -> Markup:
    """Draw the thread: wound up to now, dotted to the likely end, with the interval as a band."""
    end = max(1, answered + high)
    now, first, likely = (100 * v / end for v in (answered, answered + low, answered + median))
    marks = [
        (0.0, "0"),
        (now, f"{answered:,} now"),
        (first, f"{answered + low:,}"),
        (100.0, f"{end:,}"),
    ]
    words: list[str] = []
    last = -20.0
    for x, text in marks:
        if x - last >= 9 or x == 100:
            if x == 100 and words and x - last < 9:
                words.pop()
            words.append(_text(x, 80, text))
            last = x
    return _svg(
        84,
        label,
        [
            f'<rect class="band" x="{first:.2f}%" y="26" '
            f'width="{100 - first:.2f}%" height="32" rx="4"/>',
            _line(0, max(0.0, now - 0.6), 42, 42, "th"),
            _line(min(100, now + 1.4), 99.6, 42, 42, "th dots"),
            f'<circle class="hole" cx="{max(0.8, now):.2f}%" cy="42" r="7"/>',
            _line(likely, likely, 30, 54, "th"),
            _text(likely, 16, f"enough at about {answered + median:,} answers" if median else ""),
            *words,
        ],
    )


def interval_chart(value: float, low: float, high: float, label: str) -> Markup:
    """Draw a value between 0 and 100 with its interval; the axis begins at a round number."""
    first = min(80, int(low // 10 * 10))

    def at(v: float) -> float:
        return 100 * (v - first) / (100 - first)

    middle = first + (100 - first) / 2
    words = [_text(at(v), 24, f"{v:.0f}") for v in (low, high) if abs(at(v) - at(value)) > 7]
    return _svg(
        92,
        label,
        [
            '<line class="ax" x1="0" x2="100%" y1="60" y2="60"/>',
            _line(at(low), at(high), 42, 42, "th"),
            _line(at(low), at(low), 35, 49, "th"),
            _line(at(high), at(high), 35, 49, "th"),
            f'<circle class="dot" cx="{at(value):.2f}%" cy="42" r="6"/>',
            _text(0, 82, f"{first}"),
            _text(50, 82, f"{middle:.0f}"),
            _text(100, 82, "100"),
            _text(at(value), 24, f"{value:.0f}"),
            *words,
        ],
    )


def bars_chart(counts: Sequence[tuple[str, int]], label: str) -> Markup:
    """Draw counts as lengths of thread, one below the other."""
    most = max((n for _, n in counts), default=1) or 1
    parts: list[str] = []
    for row, (name, n) in enumerate(counts):
        y = 18 + 28 * row
        parts += [
            f'<text x="0" y="{y + 4}">{escape(name)}</text>',
            _line(28, 28 + 52 * n / most, y, y, "th"),
            f'<circle class="dot" cx="{28 + 52 * n / most:.2f}%" cy="{y}" r="4"/>',
            _text(99, y + 4, f"{n:,}"),
        ]
    return _svg(28 * len(counts) + 12, label, parts)
