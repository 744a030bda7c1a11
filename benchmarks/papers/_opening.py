"""How the report of a study begins: what it is, where it ran, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from benchmarks import _harness as harness

__all__ = ["opening"]


def opening(
    title: str,
    notes: str,
    scale: str,
    *,
    sources: Collection[str],
    remedy: str,
    n_missing: int,
    is_quick: bool,
    absent: Sequence[str] = (),
) -> list[str]:
    """Write the beginning of a report.

    Parameters
    ----------
    title, notes : str
        What the study is.
    scale : str
        How large it is.
    sources : collection of str
        Tags of clew's source that made the results.
    remedy : str
        What makes them anew.
    n_missing : int
        Results that are not there yet.
    is_quick : bool
        Whether to warn that the figures mean little.
    absent : sequence of str, default=()
        Data sets that were asked for and could not be had.

    Returns
    -------
    list of str
        Lines of Markdown.
    """
    lines = [f"# {title}", ""]
    if is_quick:
        lines += ["**Quick run: few trials, small in all; the figures mean little.**", ""]
    lines += [notes, "", scale, "", harness.described(harness.provenance())]
    now = harness.source_tag()
    if set(sources) - {now}:
        made = ", ".join(sorted(sources))
        lines += [
            "",
            f"**The results are of clew's sources {made}; now it is {now}. {remedy} makes them "
            "anew.**",
        ]
    if n_missing:
        lines += ["", f"**Not complete: {n_missing} results are missing.**"]
    if absent:
        lines += ["", f"Could not be had, and left out: {', '.join(absent)}."]
    return lines
