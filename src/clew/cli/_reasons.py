"""Why two rows are together or apart, in sentences that name rows by their ids."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from clew.cluster.guided._explain import Explanation, GivenAnswer

__all__ = ["Name", "explain_text", "reasons"]

#: Returns the id of a row.
Name = Callable[[int], str]
#: Answers and rows that a sentence names; it counts the rest.
MOST_NAMED = 5


def explain_text(found: Explanation, name: Name) -> str:
    """Return the whole explanation, a sentence a line."""
    return "\n".join([_verdict(found, name), *(f"- {one}" for one in reasons(found, name))])


def reasons(found: Explanation, name: Name, *, skip: Sequence[int] = ()) -> list[str]:
    """Return what decided: answers about both rows, chains of answers, and near rows.

    Parameters
    ----------
    found : Explanation
        Of two rows.
    name : callable
        Returns the id of a row.
    skip : sequence of int, default=()
        Positions in ``found.answers`` of answers that are left out.

    Returns
    -------
    list of str
    """
    answers = [_answer(one, name) for at, one in enumerate(found.answers) if at not in skip]
    if len(answers) > MOST_NAMED:
        answers = [*answers[:MOST_NAMED], f"and {len(answers) - MOST_NAMED} more answers"]
    if not answers:
        answers = ["no other answer about both" if skip else "no answer about both"]
    return [*answers, *_chain(found, name), *_neighbors(found, name)]


def _verdict(found: Explanation, name: Name) -> str:
    i, j = found.rows
    if found.are_together:
        where = f"together, in group {found.groups[0]}"
    else:
        where = f"apart: {name(i)} in group {found.groups[0]}, {name(j)} in group {found.groups[1]}"
    return (
        f"{name(i)} and {name(j)} are {where}. "
        f"Probability of being in one group: {found.p_together:.2f}"
    )


def _answer(answer: GivenAnswer, name: Name) -> str:
    text = f"answer{f' of {answer.annotator}' if answer.annotator else ''}: "
    text += answer.answer.replace("_", " ")
    if len(answer.rows) > 2:
        text += f", about {', '.join(map(name, answer.rows))}"
    p_wrong = answer.p_wrong
    return text if np.isnan(p_wrong) else f"{text} (wrong with probability {p_wrong:.2f})"


def _chain(found: Explanation, name: Name) -> list[str]:
    chain = found.chain
    if len(chain) < 3:
        return []
    marks = ["≠" if at == found.parted_at else "=" for at in range(len(chain) - 1)]
    text = name(chain[0]) + "".join(
        f" {mark} {name(row)}" for mark, row in zip(marks, chain[1:], strict=True)
    )
    return [f"other answers imply {text}"]


def _neighbors(found: Explanation, name: Name) -> list[str]:
    sentences = []
    for row, near, own, other in zip(
        found.rows,
        found.neighbors,
        found.neighbors_in_own,
        found.neighbors_in_other,
        strict=True,
    ):
        text = f"of the {len(near)} rows nearest to {name(row)}, {own} are in its group"
        sentences.append(text if found.are_together else f"{text}, {other} in the other group")
    return sentences
