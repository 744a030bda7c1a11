"""The subclusters after some answers: their members, and probabilities of all other rows."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clew.questions._row_lists import RowLists, Start, pair_features

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Priors of log-odds (means, standard deviations, limit): of a row and a subcluster from two
#: features, and of two centers from their nearness.
ROW_PRIOR = (0.5, 8.0, -2.0), (1.0, 4.0, 1.5), 4.5
CENTER_PRIOR = (1.0, 1.0), (1.0, 0.3), 7.0
#: The log-odds from features of an asked pair are clipped to these multiples of the log-odds of an
#: answer: then one answer decides about a row, and two answers about two subclusters.
ROW_CLIP, CENTER_CLIP = 0.9, 1.2
#: Log-odds of an answer that is not wrong.
CERTAIN = 20.0
#: Smallest share of wrong answers; with it no answer is checked.
NO_ERROR = 0.005
#: Answers after which log-odds and the share of wrong answers are fitted again.
FIT_EVERY = 32
#: Two subclusters are merged above this probability, or above 1/2 where nothing is left to ask.
SURE = 0.97
#: Largest number of answers about one row and its subcluster, or about two subclusters.
MOST_ANSWERS = 5
#: Rows that may show whether two subclusters are one group have at least this probability.
LIKELY = 0.2
#: Largest number of rounds in which the consequences of one answer are found.
N_PASSES = 20
#: A center without members is replaced by a candidate that is better by this much.
LEAST_GAIN = 0.1
#: Lowest gain, so that questions about two subclusters have some value if no candidate is left.
LOWEST_GAIN = 1e-9
#: Weight of candidates that were centers before.
WAS_CENTER = 1e-3


class Seen(NamedTuple):
    """An answered pair, with its features at the time of the answer."""

    features: Floats
    i: int
    j: int
    vote: float


class Subclusters:
    """Subclusters after answers; `members` has the center first, `row_votes` sum answers."""

    def __init__(self, start: Start, error: float | None) -> None:
        self.start = start
        self.is_checking = error is None or error > NO_ERROR
        self._given_error = error
        self.error = PRIOR_ERROR if error is None else max(error, NO_ERROR)
        self.row_log_odds = LogOdds.prior(*ROW_PRIOR)
        self.center_log_odds = LogOdds.prior(*CENTER_PRIOR)
        self.evidence = AnsweredRows()
        rows = start.rows[start.centers]
        k = self.n_clusters = len(rows)
        self.members = [[int(row)] for row in rows]
        self.owner = np.full(len(start.position), -1, np.int64)
        self.owner[rows] = np.arange(k)
        self.near = np.array([start.nearness(int(at)) for at in start.centers])
        self.votes = [Votes({}, {}, {}) for _ in range(k)]
        self.lists = RowLists(start.distances, start.nearest[start.centers].copy(), self.members)
        self.row_votes = np.zeros(self.lists.rows.shape)
        self.n_row_votes = np.zeros(self.lists.rows.shape, np.int64)
        self.unit = float(np.median(start.density))
        self._was_center = np.zeros(len(start.rows), np.bool_)
        self._was_center[start.centers] = True
        self._lowest = start.distances.to_nearest(rows)[1]
        self._seen: tuple[list[Seen], list[Seen]] = [], []
        self._n_at_listing = [1] * k
        self._find_gain()

    @property
    def most_answers(self) -> int:
        """Number of answers about one row and its subcluster, or about two subclusters, at most."""
        return MOST_ANSWERS if self.is_checking else 1

    @property
    def weight(self) -> float:
        """Log-odds of one answer."""
        return CERTAIN if not self.is_checking else float(np.log((1 - self.error) / self.error))

    def learn(self, i: int, j: int, vote: float) -> None:
        """Add an answer about two rows."""
        self._remember(i, j, vote)
        self.evidence.add(i, j, vote)
        self._settle({int(self.owner[row]) for row in (i, j)} - {-1})
        if len(self.evidence.pairs) % FIT_EVERY == 0:
            self._fit()

    # Probabilities.

    def row_probabilities(self) -> Floats:
        """Return the probability that each listed row is in its subcluster, or 0 if in another."""
        log_odds = self.row_log_odds.of(self.lists.features(self.unit))
        most = np.where(self.n_row_votes > 0, ROW_CLIP * self.weight, np.inf)
        same = expit(np.clip(log_odds, -most, most) + self.weight * self.row_votes)
        owner = self.owner[self.lists.rows]
        same[(owner >= 0) & (owner != np.arange(self.n_clusters)[:, None])] = 0.0
        return np.asarray(same)

    def center_probabilities(self) -> Floats:
        """Return the probability that two subclusters are one group; 0 on the diagonal."""
        centers = self.start.position[[group[0] for group in self.members]]
        near = self.near[:, centers]
        log_odds = self.center_log_odds.of(np.maximum(near, near.T)[:, :, None])
        for at, votes in enumerate(self.votes):
            for other, (vote, _) in votes.subclusters.items():
                log_odds[at, other] = self._with_votes(log_odds[at, other], vote, CENTER_CLIP)
        same = np.asarray(expit(log_odds))
        np.fill_diagonal(same, 0.0)
        return same

    def _of_centers(self, a: int, b: int, clip: float = CENTER_CLIP) -> float:
        """Return the probability that two subclusters are one group."""
        first, second = self.start.position[[self.members[a][0], self.members[b][0]]]
        near = max(self.near[a, second], self.near[b, first])
        log_odds = float(self.center_log_odds.of(np.array([near])))
        if b in self.votes[a].subclusters:
            log_odds = self._with_votes(log_odds, self.votes[a].subclusters[b][0], clip)
        return float(expit(log_odds))

    def _with_votes(self, log_odds: float, vote: float, clip: float) -> float:
        """Add answers to log-odds from features."""
        most = clip * self.weight
        return min(max(log_odds, -most), most) + self.weight * vote

    def _features(self, row: int, at: int) -> Floats:
        """Return the features of a row and a subcluster."""
        place = np.flatnonzero(self.lists.rows[at] == row)
        if len(place):
            return self.lists.features_of(at, int(place[0]), self.unit)
        centers = np.array([group[0] for group in self.members])
        apart = self.start.distances.block(np.array([row]), centers)[0].astype(np.float64)
        own = apart[at]
        apart[at] = np.inf
        return pair_features(own, apart.min(), self.unit)

    def _of_row(self, row: int, at: int, vote: float) -> float:
        """Return the probability that a row is in a subcluster."""
        log_odds = float(self.row_log_odds.of(self._features(row, at)))
        return float(expit(self._with_votes(log_odds, vote, ROW_CLIP)))

    # Consequences of answers.

    def _settle(self, changed: set[int]) -> None:
        """Count votes, and change members and centers until nothing changes."""
        for _ in range(N_PASSES):
            if not changed:
                return
            for at in sorted(changed):
                self._count(at)
            changed = self._change_members(changed) or self._change_centers(changed)

    def _count(self, at: int) -> None:
        """Count the votes about a subcluster."""
        votes = self.evidence.votes(at, self.members[at], self.owner)
        for other in self.votes[at].subclusters.keys() - votes.subclusters.keys():
            self.votes[other].subclusters.pop(at, None)
        for other, found in votes.subclusters.items():
            self.votes[other].subclusters[at] = found
        self.votes[at] = votes
        self._tabulate(at)

    def _tabulate(self, at: int) -> None:
        votes = self.votes[at]
        both = {**votes.rows, **votes.members}
        table = np.array([both.get(row, (0.0, 0)) for row in self.lists.rows[at].tolist()])
        self.row_votes[at], self.n_row_votes[at] = table[:, 0], table[:, 1]

    def _change_members(self, changed: set[int]) -> set[int]:
        """Add and remove rows by the answers about them; return the subclusters to count again."""
        again: set[int] = set()
        for at in sorted(changed):
            votes = self.votes[at]
            for row, (vote, _) in sorted(votes.rows.items()):
                if vote > 0 and self.owner[row] < 0 and self._of_row(row, at, vote) > 0.5:
                    self.owner[row] = at
                    self.members[at].append(row)
                    self.lists.add_member(at, row, len(self.members[at]))
                    again |= self._around(row) | {at}
            for row in self.members[at][1:]:
                vote = votes.members.get(row, (0.0, 0))[0]
                if at not in again and vote < 0 and self._of_row(row, at, vote) < 0.5:
                    self.members[at].remove(row)
                    self.owner[row] = -1
                    self.lists.set_members(at, self.members[at])
                    again |= self._around(row) | {at}
                    break
        for at in changed:
            self._list_again(at)
        return again

    def _around(self, row: int) -> set[int]:
        """Return the subclusters whose rows were compared with a row."""
        return {int(self.owner[other]) for other, _ in self.evidence.of_row.get(row, ())} - {-1}

    def _change_centers(self, changed: set[int]) -> set[int]:
        """Merge two subclusters, or replace a center; return the subclusters to count again."""
        if self.owner[self.start.rows[self._best]] >= 0:  # it became a row of a subcluster
            self._find_gain()
        return self._merge(changed) or self._replace()

    def _merge(self, changed: set[int]) -> set[int]:
        """Merge a subcluster with another one of its group, and choose a new center."""
        for at in sorted(changed):
            for other, (vote, n) in sorted(self.votes[at].subclusters.items()):
                if vote <= 0 or not self._has_candidate:
                    continue
                same = self._of_centers(at, other)
                is_last = n < self.most_answers or same > 0.5
                if same > SURE or (is_last and not self._can_check(at, other)):
                    kept, left = (at, other) if self._rank(at) < self._rank(other) else (other, at)
                    return self._join(kept, left)
        return set()

    def _rank(self, at: int) -> tuple[int, float]:
        return -len(self.members[at]), float(self.start.density[self._center(at)])

    def _center(self, at: int) -> int:
        return int(self.start.position[self.members[at][0]])

    def _can_check(self, a: int, b: int) -> bool:
        """Return whether more answers may show that two subclusters are one group."""
        n_answers = self.votes[a].subclusters[b][1]
        return n_answers < self.most_answers and (
            n_answers < len(self.members[a]) * len(self.members[b])
            or self.place_of_next(a) is not None
            or self.place_of_next(b) is not None
        )

    def place_of_next(self, at: int) -> int | None:
        """Return the place of the best listed row that was not asked about, if one is likely."""
        is_new = (self.n_row_votes[at] == 0) & (self.owner[self.lists.rows[at]] < 0)
        same = np.where(is_new, self.row_probabilities()[at], 0.0)
        best = int(same.argmax())
        return best if same[best] > LIKELY else None

    def _join(self, kept: int, left: int) -> set[int]:
        rows = self.members[left]
        self.owner[rows] = kept
        self.members[kept] += rows
        self.near[kept] = np.maximum(self.near[kept], self.near[left])
        self.lists.set_members(kept, self.members[kept])
        around = set().union(*(self._around(row) for row in rows))
        return around | {kept} | self._set_center(left)

    def _replace(self) -> set[int]:
        """Replace a center whose nearest rows are in other groups."""
        n_wrong = [sum(vote < 0 for vote, _ in votes.rows.values()) for votes in self.votes]
        for at in np.flatnonzero(np.array(n_wrong) >= 2):
            is_alone = len(self.members[at]) == 1 and self._has_candidate
            if is_alone and self.gain > self._score(int(at)) + LEAST_GAIN:
                row = self.members[at][0]
                self.owner[row] = -1
                return self._around(row) | self._set_center(int(at))
        return set()

    def _score(self, at: int) -> float:
        """Return the expected score of a subcluster: the square of its share of right rows."""
        same = np.sort(self.row_probabilities()[at])[::-1]
        return float(same[: max(self.start.size - 1, 1)].mean() ** 2)

    def _set_center(self, at: int) -> set[int]:
        """Make the best candidate the center of a subcluster."""
        best = self._best
        row = int(self.start.rows[best])
        self.members[at], self.owner[row] = [row], at
        self._was_center[best] = True
        self.near[at] = self.start.nearness(best)
        apart = self.start.distances.block(np.array([row]), None)[0]
        np.minimum(self._lowest, apart, out=self._lowest)
        self.lists.set_members(at, self.members[at])
        self.lists.set_rows(at, self.start.nearest[best], self.members)
        self._n_at_listing[at] = 1
        self._find_gain()
        return self._around(row) | {at}

    def _list_again(self, at: int) -> None:
        """List the rows near all members, whenever their number has doubled."""
        rows = self.lists.rows[at]
        owner, n = self.owner[rows], len(self.members[at])
        is_open = ((owner < 0) & (self.row_votes[at] >= 0)) | (owner == at)
        if n < 2 * self._n_at_listing[at] and is_open.sum() >= min(2 * self.start.size, len(rows)):
            return
        is_elsewhere = (self.owner >= 0) & (self.owner != at)
        is_elsewhere[[row for row, (vote, _) in self.votes[at].rows.items() if vote < 0]] = True
        self._n_at_listing[at] = n
        self.lists.list_nearest(at, is_elsewhere, self.members)
        self._tabulate(at)

    # Candidates.

    def _find_gain(self) -> None:
        """Find the candidate with the highest expected score as a new center."""
        start = self.start
        at = max(start.size - 1, 1)
        features = pair_features(
            start.apart[:, :at], self._lowest[start.nearest[:, :at]], self.unit
        )
        pure = expit(self.row_log_odds.of(features)).mean(axis=1) ** 2
        log_odds = self.center_log_odds.of(self.near[:, :, None])
        for known, votes in enumerate(self.votes):
            for row, (vote, _) in votes.rows.items():
                if start.position[row] >= 0:
                    log_odds[known, start.position[row]] += self.weight * vote
        new = 1 / (1 + np.exp(log_odds).sum(axis=0))
        gain = pure * new * np.where(self._was_center, WAS_CENTER, 1.0)
        gain[self.owner[start.rows] >= 0] = -1.0
        self._best = int(gain.argmax())
        self._has_candidate = bool(gain[self._best] >= 0)
        self.gain = max(float(gain[self._best]), LOWEST_GAIN)

    # Fits.

    def _remember(self, i: int, j: int, vote: float) -> None:
        """Keep the features of a pair that is answered."""
        a, b = int(self.owner[i]), int(self.owner[j])
        if a >= 0 and b >= 0 and a != b:
            centers = self.start.position[[self.members[a][0], self.members[b][0]]]
            near = max(self.near[a, centers[1]], self.near[b, centers[0]])
            self._seen[1].append(Seen(np.array([near]), i, j, vote))
        elif (a >= 0) != (b >= 0):
            at, row = (a, j) if a >= 0 else (b, i)
            self._seen[0].append(Seen(self._features(row, at), i, j, vote))

    def _same(self, seen: Seen) -> float:
        """Return the probability that an answered pair is in one group, nothing clipped."""
        a, b = int(self.owner[seen.i]), int(self.owner[seen.j])
        if a >= 0 and a == b:
            votes = self.votes[a].members
            vote = min(votes.get(row, (0.0, 0))[0] for row in (seen.i, seen.j))
            return float(expit(self.row_log_odds.coefficients[0] + self.weight * vote))
        if a >= 0 and b >= 0:
            return self._of_centers(a, b, np.inf)
        if a >= 0 or b >= 0:
            at, row = (a, seen.j) if a >= 0 else (b, seen.i)
            log_odds = (
                float(self.row_log_odds.of(seen.features)) if len(seen.features) == 2 else 0.0
            )
            vote = self.votes[at].rows.get(row, (0.0, 0))[0]
            return float(expit(log_odds + self.weight * vote))
        return float(expit(self.weight * seen.vote))

    def _fit(self) -> None:
        """Fit log-odds and the share of wrong answers to all answers."""
        same = [np.array([self._same(seen) for seen in each]) for each in self._seen]
        self.row_log_odds, self.center_log_odds = (
            before.fitted(np.array([each.features for each in seen]), target) if seen else before
            for before, seen, target in zip(
                (self.row_log_odds, self.center_log_odds), self._seen, same, strict=True
            )
        )
        if self._given_error is None:
            votes = np.array([seen.vote for each in self._seen for seen in each])
            self.error = error_rate(np.concatenate(same), votes)
        self._find_gain()


class Votes(NamedTuple):
    """What was answered about one subcluster."""

    rows: dict[int, tuple[float, int]]
    """For rows of no subcluster: "same" minus "different", weighted, and the number of answers."""
    subclusters: dict[int, tuple[float, int]]
    """The same for other subclusters."""
    members: dict[int, tuple[float, int]]
    """The same for its own rows."""


class AnsweredRows:
    """All answers, by row."""

    def __init__(self) -> None:
        self.pairs: list[tuple[int, int, float]] = []
        self.of_row: dict[int, list[tuple[int, float]]] = defaultdict(list)

    def add(self, i: int, j: int, vote: float) -> None:
        """Add an answer about two rows: a vote for "same", negative for "different"."""
        self.pairs.append((i, j, vote))
        self.of_row[i].append((j, vote))
        self.of_row[j].append((i, vote))

    def votes(self, subcluster: int, members: list[int], owner: NDArray[np.int64]) -> Votes:
        """Sum the votes about a subcluster; `owner` is the subcluster of each row, or -1."""
        found = Votes({}, {}, {})
        for row in members:
            for other, vote in self.of_row.get(row, ()):
                group = int(owner[other])
                if group == -1:
                    _add(found.rows, other, vote)
                elif group == subcluster:
                    _add(found.members, other, vote)
                else:
                    _add(found.subclusters, group, vote)
        return found


def _add(votes: dict[int, tuple[float, int]], key: int, vote: float) -> None:
    total, n = votes.get(key, (0.0, 0))
    votes[key] = total + vote, n + 1


N_STEPS = 8
#: No slope falls below this share of its prior mean: few or wrong answers reverse no feature.
LEAST_SLOPE = 0.25
#: Share of wrong answers: its prior as numbers of wrong and right answers, and its range.
ERROR_PRIOR, ERRORS = (3.0, 27.0), (0.005, 0.4)
#: Mean of this prior.
PRIOR_ERROR = ERROR_PRIOR[0] / sum(ERROR_PRIOR)


class LogOdds(NamedTuple):
    """Coefficients with a normal prior; never changed."""

    coefficients: Floats
    """The intercept first."""
    mean: Floats
    deviation: Floats
    limit: float
    """Log-odds are clipped to between -limit and limit."""

    @classmethod
    def prior(cls, mean: tuple[float, ...], deviation: tuple[float, ...], limit: float) -> Self:
        """Start from the prior."""
        return cls(np.array(mean), np.array(mean), np.array(deviation), limit)

    def of(self, features: Floats) -> Floats:
        """Return log-odds, clipped, for features along the last axis."""
        total = self.coefficients[0] + features @ self.coefficients[1:]
        return np.asarray(np.clip(total, -self.limit, self.limit))

    def fitted(self, features: Floats, target: Floats) -> Self:
        """Maximize the posterior by Newton's method; targets are probabilities of one group."""
        design = np.column_stack([np.ones(len(features)), features])
        precision = 1 / self.deviation**2
        at, least = self.coefficients.copy(), LEAST_SLOPE * self.mean
        for _ in range(N_STEPS):
            p = expit(design @ at)
            slope = design.T @ (target - p) - precision * (at - self.mean)
            curvature = (design * (p * (1 - p))[:, None]).T @ design + np.diag(precision)
            step = np.linalg.solve(curvature, slope)
            at += step / max(1.0, float(np.abs(step / self.deviation).max()))
        slopes = np.where(self.mean > 0, np.maximum(at, least), np.minimum(at, least))
        at[1:] = slopes[1:]
        return self._replace(coefficients=at)


def error_rate(same: Floats, votes: Floats) -> float:
    """Return the expected share of wrong answers; a vote is positive for "same"."""
    n_wrong = float(np.where(votes > 0, 1 - same, same).sum())
    rate = (ERROR_PRIOR[0] + n_wrong) / (sum(ERROR_PRIOR) + len(votes))
    return float(np.clip(rate, *ERRORS))
