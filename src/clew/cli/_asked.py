"""The number of groups, if the answers are to questions that clew chose."""

from __future__ import annotations

from typing import Any

import numpy as np

from clew._warnings import silenced
from clew.answers import ORIGINS, Answer, Question
from clew.cli._features import Standardize, features_for
from clew.cli._inputs import Items
from clew.cli._progress import Words
from clew.constraints import Constraints
from clew.questions import Guided
from clew.session import Session

__all__ = ["number_from_questions", "session_data"]

#: The number of groups is that of a session if at least so many answers, and at least this share
#: of them, are to questions that clew chose.
LEAST_ASKED, LEAST_SHARE = 20, 0.5
#: Smaller groups of a session are not counted: most of them are parts of others.
LEAST_ROWS = 3


def number_from_questions(
    items: Items, known: Constraints, standardizes: Standardize, seed: int, words: Words
) -> int | None:
    """Return the number of groups that ``clew ask`` finds with the same answers.

    Questions are chosen where groups are uncertain, so their answers are no random sample, and the
    number of groups that predicts them best is often far too small.

    Parameters
    ----------
    items : Items
        The rows.
    known : Constraints
        The answers.
    standardizes : bool or "auto"
        See `features_for`.
    seed : int
        Seed of the session.
    words : Words
        Shows progress.

    Returns
    -------
    int or None
        Number of groups of three rows or more. None if less than 20 answers or less than half of
        them are to questions that clew chose, or if there are fewer than two such groups.
    """
    answers = _answers(known)
    n_asked = sum(answer.origin != "imported" for answer in answers)
    if n_asked < max(LEAST_ASKED, LEAST_SHARE * len(answers)):
        return None
    with words.bar("Finding the number of groups"), silenced():
        session = Session(**session_data(items, standardizes), random_state=seed)
        labels = session.tell(answers).labels()
    n_groups = int((np.bincount(labels) >= LEAST_ROWS).sum())
    return n_groups if n_groups > 1 else None


def session_data(items: Items, standardizes: Standardize) -> dict[str, Any]:
    """Return the features, and whether to standardize them, or the distances, for `Session`."""
    if items.is_distances:
        return {"distances": items.X}
    features = features_for(Guided(), items.X, standardizes, is_scaled=items.is_scaled)
    return {"X": features.X, "standardize": features.standardize}


def _answers(known: Constraints) -> list[Answer]:
    """Return the answers one by one; those of one kind keep their order."""
    found = []
    for table in known.tables:
        columns = (table.rows, table.answers, table.annotators, table.weights, table.origins)
        for rows, code, who, weight, at in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            origin = ORIGINS[at]
            question = Question(table.kind, tuple(rows), origin=origin)
            name = known.annotators[who]
            found.append(Answer(question, code, name, weight=weight, origin=origin))
    return found
