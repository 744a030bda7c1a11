"""The part of a report about answers that look wrong, each with its reasons."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from clew.answers import ANSWER_WORDS, KINDS, Kind
from clew.cli._group_traits import cell
from clew.cli._inputs import Items
from clew.cli._reasons import reasons
from clew.cli._tables import Doubted, Groups, doubted_answers
from clew.cli._thumbnails import figure, is_shown
from clew.cli.report import card_list, percent
from clew.cluster import GuidedClustering
from clew.constraints import AnswerTable, Constraints

__all__ = ["doubted_section"]

#: Answers that are shown.
MOST_ANSWERS = 60
QUESTIONS = {
    "pair": "Same group?",
    "triplet": "Is the first more like the second or like the third?",
    "odd_one_out": "Which one of the three is different?",
}


def doubted_section(
    known: Constraints, model: Any, groups: Groups, items: Items, columns: Sequence[str]
) -> str:
    """Return the answers that are more likely wrong than right, as HTML.

    Parameters
    ----------
    known : Constraints
        The answers.
    model : estimator
        The fitted model.
    groups : Groups
        Its groups.
    items : Items
        The rows.
    columns : sequence of str
        Columns that are shown of each row.
    """
    doubted = doubted_answers(model)
    if not doubted:
        return f"<p>{_none(model)}</p>"
    words = (
        f"The probability that an answer is wrong is estimated from the {items.noun}s and from all "
        f"other answers. {len(doubted):,} of {len(known):,} are more likely wrong than right, the "
        "most doubtful first."
    )
    if len(doubted) > MOST_ANSWERS:
        words += f" {MOST_ANSWERS} are shown; the file of doubtful answers has all."
    tables = {table.kind: table for table in known.tables}
    cards = [
        _card(one, tables[one.kind], known, model, groups, items, columns)
        for one in doubted[:MOST_ANSWERS]
    ]
    return f'<p>{words}</p><div class="wide">{card_list(cards)}</div>'


def _none(model: Any) -> str:
    if isinstance(model, GuidedClustering) or hasattr(
        getattr(model, "similarity_", None), "doubt_"
    ):
        return "No answer is more likely wrong than right."
    return "This method does not estimate which answers are wrong."


def _card(
    one: Doubted,
    answers: AnswerTable,
    known: Constraints,
    model: Any,
    groups: Groups,
    items: Items,
    columns: Sequence[str],
) -> str:
    rows = answers.rows[one.at].tolist()
    word = _words(one.kind)[int(answers.answers[one.at])]
    who = known.annotators[answers.annotators[one.at]]
    if is_shown(items):
        shown = f'<div class="pair">{"".join(figure(items, row) for row in rows)}</div>'
    else:
        shown = "".join(_item(row, items, columns) for row in rows)
    by = f" by {escape(who)}" if who else ""
    why = "".join(f"<li>{escape(reason)}</li>" for reason in _why(one, rows, model, groups, items))
    return (
        f"{shown}<p>{QUESTIONS[one.kind]} Answer{by}: <b>{word}</b></p>"
        f"<small>Wrong with probability {percent(one.p_wrong)}</small><ul>{why}</ul>"
    )


def _words(kind: Kind) -> dict[int, str]:
    """Return the word of each code of an answer."""
    return {code: word.replace("_", " ") for word, code in ANSWER_WORDS[kind].items()}


def _item(row: int, items: Items, columns: Sequence[str]) -> str:
    values = " · ".join(f"{cell(name)} {cell(items.frame[name].iloc[row])}" for name in columns)
    return f'<span class="item"><b>{escape(cell(items.ids[row]))}</b>{escape(values)}</span>'


def _why(one: Doubted, rows: list[int], model: Any, groups: Groups, items: Items) -> list[str]:
    """Return why an answer looks wrong."""
    label = groups.label[rows].tolist()
    if len(set(label)) == 1:
        first = f"all are in group {label[0]}" if len(rows) > 2 else f"both are in group {label[0]}"
    else:
        first = f"they are in groups {', '.join(map(str, label[:-1]))} and {label[-1]}"
    if not isinstance(model, GuidedClustering):
        return [first]
    if one.kind != "pair":
        implied = model.answer_posterior_.alternatives[KINDS.index(one.kind)][one.at]
        return [first, f"the groups imply: {_words(one.kind)[int(implied)]}"]
    found = model.explain(*rows)
    at = next((at for at, each in enumerate(found.answers) if each.p_wrong == one.p_wrong), -1)
    first += f", together with probability {found.p_together:.2f}"
    return [first, *reasons(found, lambda row: cell(items.ids[row]), skip=(at,))]
