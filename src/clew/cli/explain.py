"""``clew explain``: why two rows of a saved result are together or apart."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew.cli._options import INPUT

if TYPE_CHECKING:
    from clew.cli._explanations import Saved
    from clew.cluster.guided._explain import Explanation


@click.command()
@click.argument("result", metavar="RESULT.npz", type=INPUT)
@click.argument("first", metavar="I")
@click.argument("second", metavar="J")
@click.option(
    "--rows",
    "by_row",
    is_flag=True,
    help="I and J are row numbers from 0.  [default: they are ids]",
)
@click.option("--json", "as_json", is_flag=True, help="Print the explanation as JSON.")
def explain(result: Path, first: str, second: str, by_row: bool, as_json: bool) -> None:
    """Explain why two rows are together or apart.

    RESULT.npz comes from clew group --save. I and J are ids of rows; in a file without ids these
    are the row numbers from 0. Prints the answers about both rows, the shortest chain of other
    answers that joins or separates them, and the groups of the rows nearest to each.

    \b
    clew group wines.csv --constraints answers.csv -o groups.csv --save result.npz
    clew explain result.npz wine_000 wine_131
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._explanations import explain_text, read_saved

    saved = read_saved(result)
    i, j = (_row(saved, value, by_row=by_row) for value in (first, second))
    if i == j:
        raise click.UsageError(f"I and J are the same row, {saved.ids[i]}; name two rows")
    found = saved.explain(i, j)
    if as_json:
        click.echo(json.dumps(_record(found, saved.ids)))
    else:
        click.echo(explain_text(found, saved.ids.__getitem__, saved.titles))


def _row(saved: Saved, value: str, *, by_row: bool) -> int:
    """Return the number of the row with an id."""
    n = len(saved.ids)
    if by_row:
        if value.isdecimal() and int(value) < n:
            return int(value)
        raise click.UsageError(f"{value!r} is not a row number from 0 to {n - 1}")
    try:
        return saved.ids.index(value.strip())
    except ValueError:
        hint = "; for row numbers add --rows" if value.isdecimal() else ""
        raise click.UsageError(
            f"there is no row with the id {value!r} (the first of {n:,} is {saved.ids[0]!r}){hint}"
        ) from None


def _record(found: Explanation, ids: list[str]) -> dict[str, Any]:
    """Return an explanation for JSON, with ids in place of row numbers."""
    answers = [
        {
            "kind": answer.kind,
            "ids": [ids[row] for row in answer.rows],
            "answer": answer.answer,
            "annotator": answer.annotator,
            "p_wrong": None if math.isnan(answer.p_wrong) else round(answer.p_wrong, 4),
        }
        for answer in found.answers
    ]
    return {
        "ids": [ids[row] for row in found.rows],
        "groups": list(found.groups),
        "p_together": round(found.p_together, 4),
        "answers": answers,
        "chain": [ids[row] for row in found.chain],
        "different_after": found.parted_at if found.parted_at >= 0 else None,
        "neighbors": [[ids[row] for row in near] for near in found.neighbors],
        "neighbors_in_own": list(found.neighbors_in_own),
        "neighbors_in_other": list(found.neighbors_in_other),
    }
