"""The first questions, before there is a model: drawn at random."""

from __future__ import annotations

import random

from clew.answers import Kind, Question
from clew.store.base import Store, Suggestion

#: Rows of the kinds of questions that can be drawn without a model.
N_DRAWN: dict[Kind, int] = {"pair": 2, "triplet": 3, "odd_one_out": 3}


def warm_up(store: Store, n: int, *, worker: str | None = None) -> int:
    """Fill the pool up with `n` free questions about items drawn at random.

    Their origin is "imported": only the checks of a session, whose probability is known, say how
    good groups are.

    Parameters
    ----------
    store : Store
        The store of the project.
    n : int
        Number of questions that nobody holds.
    worker : str, default=None
        Token of the worker, if one fills the pool.

    Returns
    -------
    int
        Number of questions that were added: 0 with fewer than two items, or if the settings want
        only kinds of questions that need groups.
    """
    kinds = [kind for kind in store.settings()["kinds"] if kind in N_DRAWN]
    held = {lease.question for lease in store.leases()}
    free = [suggestion for suggestion in store.pool() if suggestion.question not in held]
    ids = store.item_ids()
    if len(free) >= n or not kinds or len(ids) < max(N_DRAWN[kind] for kind in kinds):
        return 0
    questions = {suggestion.question for suggestion in free}
    drawn: dict[Question, None] = {}
    for at in range(
        2 * (n - len(free))
    ):  # some are drawn twice, were answered, or are about items set aside
        kind = kinds[at % len(kinds)]
        names = tuple(random.sample(ids, N_DRAWN[kind]))
        question = Question(kind, (), "imported", tuple(sorted(names)) if kind == "pair" else names)
        if question not in questions and question not in held:
            drawn[question] = None
    new = [Suggestion(question) for question in drawn]
    before = len(store.pool())
    store.replace_pool([*free, *new], worker=worker)
    return len(store.pool()) - before
