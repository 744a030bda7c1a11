"""Rules, models and earlier groupings as annotators: the pairs that they judge, and their weight.

Errors of a rule go along with the features, so agreement with features, or with groups that follow
from them, is no evidence that the rule is right. Its error rate is estimated from people's answers
about pairs of its scope that were drawn at random, and from nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from scipy.special import logit, softmax
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from clew.answers import DIFFERENT, SAME, as_answer_code
from clew.constraints._validation import RowIds
from clew.exceptions import InvalidConstraintsError, InvalidDataError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Returns what an item has in common with others, or None if the rule does not concern it.
KeyOf = Callable[[Any], Hashable | None]

#: Beta prior of a rule's error rate: wide, one in three on the average.
PRIOR = (1.5, 3.0)
#: Probability that a person's answer to a check is wrong.
CHECK_ERROR = 0.05
#: A weight of 1 is that of an answer which is wrong with this probability.
FULL_ERROR = 0.05
RATES = (np.arange(200) + 0.5) / 200
#: Standard deviations of the posterior that are added to the error rate.
CAUTION = 0.5
#: Weights change in steps, so that few checks change them.
STEP = 0.1
#: Largest total weight of a rule's judgments about one item, in judgments of full weight.
MOST_OF_ITEM = 3.0
#: Each row is linked to some of so many nearest rows of its group.
N_NEIGHBORS = 10
#: Pairs of groups that are compared: all up to this number of groups, or as many others for each.
MOST_GROUPS = 40


class Judgments(NamedTuple):
    """What a rule says."""

    rows: Ints
    """Pairs, (m, 2), the smaller row first, each once."""
    said: Ints
    """`SAME` or `DIFFERENT`, (m,)."""

    def agrees(self, rows: Ints, answers: Ints) -> NDArray[np.bool_]:
        """Whether answers in scope (of "same": all pairs that it connects) agree with it."""
        if self.is_grouping:
            group = self._components(rows)
            is_in = group[rows[:, 0]] == group[rows[:, 1]]
            return np.asarray(answers[is_in] == SAME)
        said = dict(zip(map(tuple, self.rows.tolist()), self.said.tolist(), strict=True))
        pairs = zip(map(tuple, np.sort(rows, axis=1).tolist()), answers.tolist(), strict=True)
        return np.array([said[pair] == code for pair, code in pairs if pair in said], np.bool_)

    @property
    def is_grouping(self) -> bool:
        """Whether the rule says "same" only."""
        return bool((self.said == SAME).all())

    def drawn(self, random: np.random.RandomState) -> tuple[tuple[int, int], int]:
        """Draw a pair of the scope, all with the same probability; and return their number."""
        if not self.is_grouping:
            i, j = self.rows[random.randint(len(self.rows))].tolist()
            return (i, j), len(self.rows)
        group = self._components(self.rows)
        sizes = np.bincount(group)
        n_pairs = sizes * (sizes - 1) // 2
        chosen = int(random.choice(len(sizes), p=n_pairs / n_pairs.sum()))
        i, j = np.sort(random.choice(np.flatnonzero(group == chosen), 2, replace=False)).tolist()
        return (i, j), int(n_pairs.sum())

    def _components(self, others: Ints) -> Ints:
        """Return the sets of rows that the pairs connect."""
        n = int(max(self.rows.max(initial=0), others.max(initial=0))) + 1
        graph = coo_array((np.ones(len(self.rows)), tuple(self.rows.T)), shape=(n, n))
        return np.asarray(connected_components(graph, directed=False)[1], np.int64)

    def shares(self, n_samples: int) -> Floats:
        """Factor by which each weight is lowered, because its items are in many pairs, (m,)."""
        degree = np.bincount(self.rows.ravel(), minlength=n_samples)[self.rows]
        return np.asarray(np.minimum(1.0, MOST_OF_ITEM / np.sqrt(degree.prod(axis=1))))


def weight_of_rule(n_right: float, n_wrong: float) -> tuple[float, float]:
    """Error rate, posterior mean plus half a deviation, and weight in [0, 1]."""
    a, b = PRIOR
    agree = (1 - RATES) * (1 - CHECK_ERROR) + RATES * CHECK_ERROR
    log_p = (a - 1) * np.log(RATES) + (b - 1) * np.log1p(-RATES)
    log_p += n_right * np.log(agree) + n_wrong * np.log1p(-agree)
    p = softmax(log_p)
    mean = float(p @ RATES)
    rate = mean + CAUTION * float(np.sqrt(p @ (RATES - mean) ** 2))
    weight = float(np.clip(logit(1 - rate) / logit(1 - FULL_ERROR), 0.0, 1.0))
    return rate, round(weight / STEP) * STEP


def judgments_of(
    name: object,
    pairs: ArrayLike | Iterable[Sequence[Hashable]] | KeyOf,
    answer: str | int | Sequence[str | int],
    *,
    ids: RowIds | None,
    meta: Sequence[Any] | None,
    n_samples: int,
    X: Floats | None,
) -> Judgments:
    """Check the arguments of `add_rule`, and return what the rule says."""
    if not isinstance(name, str) or not name:
        raise InvalidConstraintsError(f"a rule has a name of its own, got {name!r}")
    if callable(pairs):
        keys = _keys(pairs, ids, meta, n_samples)
        rows = tree_pairs(keys, X) if _code(answer) == SAME else _all_pairs(keys)
        said = np.full(len(rows), _code(answer))
    else:
        if meta is not None:
            raise InvalidConstraintsError("meta is for a rule given as a function; leave it out")
        rows = _as_rows(pairs, ids, n_samples)
        is_one = isinstance(answer, str | int | np.integer)
        codes = [answer] * len(rows) if is_one else list(answer)  # type: ignore[arg-type]
        if len(codes) != len(rows):
            raise InvalidConstraintsError(
                f"there are {len(rows)} pairs and {len(codes)} answers; give one answer for each "
                "pair, or one for all"
            )
        said = np.array([_code(code) for code in codes], np.int64)
    if len(rows) == 0:
        raise InvalidConstraintsError(f"the rule {name!r} judges no pair")
    rows = np.sort(rows, axis=1)
    _, first = np.unique(rows, axis=0, return_index=True)
    first.sort()
    return Judgments(rows[first], said[first])


def _code(answer: object) -> int:
    code = as_answer_code("pair", answer)
    if code not in (SAME, DIFFERENT):
        raise InvalidConstraintsError(f"a rule says 'same' or 'different', got {answer!r}")
    return code


def _as_rows(pairs: Any, ids: RowIds | None, n_samples: int) -> Ints:
    given = [tuple(pair) for pair in pairs]
    if any(len(pair) != 2 for pair in given):
        raise InvalidConstraintsError("pairs must name two items each")
    if ids is None:
        found = np.array(given or np.empty((0, 2)))
        if found.dtype.kind not in "iu" and len(given):
            raise InvalidConstraintsError(f"pairs must be row numbers, got {given[0]}")
        if len(given) and not (found.min() >= 0 and found.max() < n_samples):
            raise InvalidConstraintsError(
                f"pairs must hold row numbers from 0 to {n_samples - 1}, got {found.min()} to "
                f"{found.max()}"
            )
        rows = found.astype(np.int64).reshape(-1, 2)
    else:
        flat = [name for pair in given for name in pair]
        rows = ids.rows_of(flat, lambda at: f"pairs[{at // 2}]").reshape(-1, 2)
    if (rows[:, 0] == rows[:, 1]).any():
        at = int(np.flatnonzero(rows[:, 0] == rows[:, 1])[0])
        raise InvalidConstraintsError(f"pairs[{at}] names one item twice: {given[at]}")
    return rows


def _keys(key_of: KeyOf, ids: RowIds | None, meta: Sequence[Any] | None, n_samples: int) -> Ints:
    """Return numbers for what the items have in common; -1 for nothing."""
    items: Sequence[Any] = meta if meta is not None else ids.names if ids else range(n_samples)
    if len(items) != n_samples:
        raise InvalidConstraintsError(
            f"meta has {len(items)} entries; it must have one for each of {n_samples} items"
        )
    if hasattr(items, "to_dict") and hasattr(items, "columns"):  # a data frame: its rows
        items = items.to_dict("records")
    number: dict[Hashable, int] = {}
    keys = [key_of(item) for item in items]
    try:
        return np.array(
            [-1 if _is_missing(key) else number.setdefault(key, len(number)) for key in keys],
            np.int64,
        )
    except TypeError as error:
        raise InvalidConstraintsError(
            "the function of a rule returns a text, a number, a tuple or None for each item; "
            f"what it returned cannot be compared: {error}"
        ) from error


def _is_missing(key: Hashable | None) -> bool:
    """Whether a key is ignored: None, or a missing value of a table (NaN, NaT, pandas.NA)."""
    is_nan = isinstance(key, float | np.floating) and np.isnan(key)
    return key is None or bool(is_nan) or type(key).__name__ in ("NAType", "NaTType")


def _all_pairs(keys: Ints) -> Ints:
    found = [np.empty((0, 2), np.int64)]
    for rows in _members(keys):
        a, b = np.triu_indices(len(rows), 1)
        found.append(np.column_stack([rows[a], rows[b]]))
    return np.concatenate(found)


def _members(groups: Ints) -> list[Ints]:
    """Rows of each group of two or more."""
    order = np.argsort(groups, kind="stable")
    ends = np.flatnonzero(np.diff(groups[order])) + 1
    return [rows for rows in np.split(order, ends) if len(rows) > 1 and groups[rows[0]] >= 0]


def tree_pairs(groups: Ints, X: Floats | None) -> Ints:
    """Minimum spanning trees, (m, 2): few answers part two groups. Without X, in order."""
    found = [np.empty((0, 2), np.int64)]
    for rows in _members(groups):
        if X is None:
            found.append(np.column_stack([rows[:-1], rows[1:]]))
            continue
        near = NearestNeighbors(n_neighbors=min(N_NEIGHBORS, len(rows) - 1)).fit(X[rows])
        graph: csr_array = near.kneighbors_graph(mode="distance")
        graph.data += 1e-9 * max(float(graph.data.max(initial=0.0)), 1e-300)  # equal rows: an edge
        tree: coo_array = minimum_spanning_tree(graph).tocoo()
        a, b = tree.row, tree.col
        _, part = connected_components(tree, directed=False)
        _, first = np.unique(part, return_index=True)
        a, b = np.append(a, first[:-1]), np.append(b, first[1:])
        found.append(np.column_stack([rows[a], rows[b]]))
    return np.concatenate(found)


def group_judgments(
    labels: ArrayLike, X: ArrayLike | None, random_state: int | np.random.RandomState | None
) -> Judgments:
    """Return what a grouping of rows says: trees of its groups, and one pair between each two."""
    given = np.asarray(labels)
    if given.ndim != 1:
        raise InvalidDataError(f"labels must have shape (n_samples,), got {given.shape}")
    names, groups = np.unique(given, return_inverse=True)
    if given.dtype.kind in "if":
        groups = np.where(given == -1, -1, groups)
    features = None
    if X is not None:
        features = np.asarray(X, np.float64)
        if features.ndim != 2 or len(features) != len(given) or not np.isfinite(features).all():
            raise InvalidDataError(
                f"X must hold finite features of the {len(given)} rows, got shape {features.shape}"
            )
    same = tree_pairs(groups.astype(np.int64), features)
    random = check_random_state(random_state)
    by_group = [np.flatnonzero(groups == k) for k in range(len(names))]
    by_group = [rows for rows in by_group if len(rows)]
    different = []
    for k, rows in enumerate(by_group):
        others = np.arange(k + 1, len(by_group))
        if len(others) > MOST_GROUPS:
            others = random.choice(others, MOST_GROUPS, replace=False)
        different += [(random.choice(rows), random.choice(by_group[m])) for m in others]
    apart = np.array(different, np.int64).reshape(-1, 2)
    rows = np.sort(np.concatenate([same, apart]), axis=1)
    said = np.repeat([SAME, DIFFERENT], [len(same), len(apart)])
    return Judgments(rows, said)
