"""Random answers as the papers draw them, and exact shares of wrong ones."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.random import RandomState

from benchmarks.study.problems import Ints
from clew.answers import ALL_ALIKE, DIFFERENT, FIRST, SAME, SECOND, THIRD

PAIR_CODES = (SAME, DIFFERENT)
ODD_CODES = (FIRST, SECOND, THIRD)
#: Rounds of drawing after which it is assumed that no more different answers exist.
ROUNDS = 200


def labeled_rows(y: Ints, per_class: int, random: RandomState) -> Ints:
    """Draw the same number of rows from every class."""
    drawn = [random.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)]
    return np.concatenate(drawn).astype(np.int64)


def all_must_links(y: Ints, rows: Ints) -> Ints:
    """Return all pairs of the rows that are in one class, as answers, (m, 3)."""
    first, second = np.triu_indices(len(rows), 1)
    pairs = np.column_stack([rows[first], rows[second]])
    return _answered(pairs[y[pairs[:, 0]] == y[pairs[:, 1]]], SAME)


def must_links(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw different pairs of one class, every class as often as others, as answers, (count, 3)."""
    pairs = _different(lambda n: np.sort(_of_one_class(y, rows, 2, n, random)[0], axis=1), count)
    return _answered(pairs, SAME)


def cannot_links(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw different pairs of two classes, as answers, (count, 3)."""

    def draw(n: int) -> Ints:
        members, classes = _of_one_class(y, rows, 1, n, random)
        others = _of_other_classes(y, rows, classes, random)
        return np.sort(np.column_stack([members[:, 0], others]), axis=1)

    return _answered(_different(draw, count), DIFFERENT)


def odd_ones_out(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw answers about two rows of one class (all classes equally often) and one of another."""

    def draw(n: int) -> Ints:
        alike, classes = _of_one_class(y, rows, 2, n, random)
        odd = _of_other_classes(y, rows, classes, random)
        return np.column_stack([np.sort(alike, axis=1), odd])

    triples = _different(draw, count)
    order = np.argsort(random.random_sample(triples.shape), axis=1)
    place = np.argmax(order == 2, axis=1)
    codes = np.array(ODD_CODES)
    return np.column_stack([np.take_along_axis(triples, order, axis=1), codes[place]])


def equalities(y: Ints, count: int, random: RandomState, *, with_apart: bool) -> Ints:
    """Draw "all alike": three rows of one class or, with probability 1/2, of three classes."""
    everywhere = np.arange(len(y))
    alike, _ = _of_one_class(y, everywhere, 3, count, random)
    if with_apart:
        is_apart = random.random_sample(count) < 0.5
        alike[is_apart] = [_of_three_classes(y, random) for _ in range(int(is_apart.sum()))]
    return _answered(alike, ALL_ALIKE)


def with_wrong(answers: Ints, share: float, codes: Sequence[int], seed: int) -> Ints:
    """Make an exact share of answers wrong; with a larger share, these stay wrong.

    Each row of `answers` holds the rows of a question and the answer, one of `codes`.
    """
    random = RandomState(seed)
    order = random.permutation(len(answers))
    step = random.randint(1, len(codes), size=len(answers))
    wrong = order[: round(share * len(answers))]
    said = answers.copy()
    place = np.argmax(said[wrong, -1:] == np.array(codes), axis=1)
    said[wrong, -1] = np.array(codes)[(place + step[wrong]) % len(codes)]
    return said


def _answered(rows: Ints, answer: int) -> Ints:
    return np.column_stack([rows, np.full(len(rows), answer)])


def _different(draw: Callable[[int], Ints], count: int) -> Ints:
    found = draw(count)
    for _ in range(ROUNDS):
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
        if len(found) >= count:
            return found[:count]
        found = np.concatenate([found, draw(count)])
    raise ValueError(f"fewer than {count} different answers can be drawn")


def _of_one_class(
    y: Ints, rows: Ints, n_rows: int, count: int, random: RandomState
) -> tuple[Ints, Ints]:
    """Draw different rows of one class, (count, n_rows), and that class, (count,)."""
    classes = np.unique(y[rows])
    members = [rows[y[rows] == c] for c in classes]
    which = random.randint(len(classes), size=count)
    sizes = np.array([len(of) for of in members])[which]
    drawn = np.empty((count, n_rows), np.int64)
    for column in range(n_rows):
        place = (random.random_sample(count) * (sizes - column)).astype(np.int64)
        for taken in np.sort(drawn[:, :column], axis=1).T:
            place += place >= taken
        drawn[:, column] = place
    table = np.zeros((len(classes), max(map(len, members))), np.int64)
    for position, of in enumerate(members):
        table[position, : len(of)] = of
    return table[which[:, None], drawn], classes[which]


def _of_other_classes(y: Ints, rows: Ints, classes: Ints, random: RandomState) -> Ints:
    """Draw for each class a row of another class."""
    found = rows[random.randint(len(rows), size=len(classes))]
    while (again := y[found] == classes).any():
        found[again] = rows[random.randint(len(rows), size=int(again.sum()))]
    return found


def _of_three_classes(y: Ints, random: RandomState) -> Ints:
    classes = random.choice(np.unique(y), 3, replace=False)
    return np.array([random.choice(np.flatnonzero(y == c)) for c in classes])
