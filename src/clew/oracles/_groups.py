"""How a simulated person answers questions that show groups by examples."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from clew.answers import DONT_KNOW, NONE_OF_THESE, Question

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Positions of "same", "different" and "don't know" in a confusion matrix of pairs.
SAYS_SAME, SAYS_DIFFERENT, SAYS_DONT_KNOW = range(3)
#: A member is wrongly ticked this many times less often than a stranger is missed.
CARE_OF_TICKS = 5.0


class GroupReader(NamedTuple):
    """A person who reads groups and members in the order in which they are shown."""

    error: float
    dont_know: float
    pairs: Floats | None
    """Confusion of pairs, (3, 3), in place of `error` and `dont_know`."""
    missed_together: float
    """Share of misses that concern all strangers of a class on a screen."""

    def which_of(self, question: Question, classes: Ints, random: RandomState) -> int:
        """Return the first group of the item's class, or an error."""
        item, *groups = _classes_of_parts(question, classes)
        n = len(groups)
        if item < 0:
            return DONT_KNOW
        if self.pairs is not None:
            for number, group in enumerate(groups):
                said = _drawn(self.pairs, group == item, random)
                if said != SAYS_DIFFERENT:
                    return number if said == SAYS_SAME else DONT_KNOW
            return NONE_OF_THESE
        truth = groups.index(item) if item in groups else NONE_OF_THESE
        drawn = random.random_sample()
        if drawn < self.dont_know:
            return DONT_KNOW
        if drawn >= self.dont_know + self.error:
            return truth
        others = [code for code in range(NONE_OF_THESE, n) if code != truth]
        return int(others[random.randint(len(others))])

    def confirm(self, question: Question, classes: Ints, random: RandomState) -> int:
        """Return the ticked strangers as bits."""
        n_examples = question.parts[0]
        own = _majority(classes[list(question.rows[:n_examples])])
        members = classes[list(question.rows[n_examples:])]
        n_classes = int(classes.max(initial=0)) + 1
        if own < 0 or random.random_sample() < self.dont_know:
            return DONT_KNOW
        drawn, of_class = random.random_sample(len(members)), random.random_sample(n_classes)
        is_shared = random.random_sample(n_classes) < self.missed_together
        ticked = 0
        for at, member in enumerate(members.tolist()):
            if member < 0:
                continue
            if self.pairs is not None:
                is_ticked = _drawn(self.pairs, member == own, random) == SAYS_DIFFERENT
            elif member == own:
                is_ticked = drawn[at] < self.error / CARE_OF_TICKS
            else:
                is_ticked = (of_class[member] if is_shared[member] else drawn[at]) >= self.error
            ticked |= int(is_ticked) << at
        return ticked


def _drawn(pairs: Floats, is_same: bool, random: RandomState) -> int:
    """Draw what is said about a pair."""
    row = pairs[SAYS_SAME if is_same else SAYS_DIFFERENT]
    return int(np.searchsorted(np.cumsum(row), random.random_sample() * row.sum(), "right"))


def _classes_of_parts(question: Question, classes: Ints) -> list[int]:
    ends = np.cumsum(question.parts)
    rows = np.array(question.rows)
    return [_majority(classes[part]) for part in np.split(rows, ends[:-1])]


def _majority(classes: Ints) -> int:
    """Return the most frequent class, the first of several; -1 if no example has a class."""
    labeled = classes[classes >= 0].tolist()
    return max(labeled, key=labeled.count) if labeled else -1
