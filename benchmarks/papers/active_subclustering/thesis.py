"""Algorithm 3 as the thesis has it: no closure, equal utilities, and a limit for each row."""

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.study.problems import Floats, Ints
from clew.cluster.medoids._candidates import draw_candidates, overlaps
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._subclusters import thesis_costs
from clew.kernels.subclusters import swap_eagerly

#: λ as a multiple of the typical distance: the better one of the study of subclustering.
SCALE = 0.3
N_LISTED, PER_CLUSTER, MAX_SWAPS = 200, 20, 200_000
#: Cost of a pair of equal centers, and factor by which the utility of a row that was put off falls.
SAME_COST, LATER = 1e4, 0.9


class ThesisRun:
    """The subclusters, and the questions that change them; ``same(i, j)`` answers."""

    def __init__(self, X: Floats, k: int, size: int, seed: int) -> None:
        self.size, random = size, np.random.RandomState(seed)
        distances = RowDistances(X, "euclidean")
        listed = min(N_LISTED, len(X) - 1)
        wanted = min(PER_CLUSTER * k, len(X))
        found = draw_candidates(distances, wanted, listed + 1, random)
        few = found._replace(nearest=found.nearest[:, : size - 1],
                             distance=found.distance[:, : size - 1])  # fmt: skip
        scale = SCALE * float(np.median(few.distance[:, -1]))
        apart = distances.between(found.rows, found.rows) * np.float32(distances.unit / scale)
        self.own, self.pair, self.overlap = thesis_costs(
            few, apart.copy(), overlaps(few), scale, is_rule=True
        )
        self.rows, self.listed = found.rows, found.nearest
        self.probability = np.exp(-apart).astype(np.float64)
        self.likely = np.exp(-found.distance / scale)
        self.centers = random.choice(wanted, k, replace=False).astype(np.int64)
        self.places = {int(r): list(range(size - 1)) for r in range(wanted)}
        self.right: dict[tuple[int, int], bool] = {}
        self._swap()
        self.later = np.ones((k, size - 1))

    def exemplars(self) -> Ints:
        """Return the rows of each subcluster, the center first."""
        return np.array([[self.rows[r], *self.listed[r, self.places[r]]] for r in self.centers])

    def _swap(self) -> None:
        swap_eagerly(self.own, self.pair, self.overlap, self.centers, 1e-9, MAX_SWAPS)

    def questions(self, same: Callable[[int, int], bool]) -> Iterator[int]:
        """Ask and learn, one question for each step."""
        n_between = n_within = between_yes = within_no = 1
        known = np.zeros((len(self.rows), len(self.rows)), np.bool_)
        k = len(self.centers)
        while True:
            of = np.ix_(self.centers, self.centers)
            between = np.where(known[of] | np.eye(k, dtype=bool), -1.0, self.probability[of])
            stays = 1 - np.where(known[of] | np.eye(k, dtype=bool), 0, between).max(axis=1)
            is_open = np.array([[(r, p) not in self.right for p in self.places[r]]
                                for r in self.centers.tolist()])  # fmt: skip
            likely = np.array([self.likely[r, self.places[r]] for r in self.centers])
            within = np.where(is_open, (1 - likely) * stays[:, None] * self.later, -1.0)
            if max(between.max(), within.max()) < 0:
                return
            if between.max() >= within.max():
                a, b = np.unravel_index(int(between.argmax()), (k, k))
                i, j = self.centers[a], self.centers[b]
                is_same = same(int(self.rows[i]), int(self.rows[j]))
                n_between, between_yes = n_between + 1, between_yes + is_same
                known[i, j] = known[j, i] = True
                self.pair[i, j] = self.pair[j, i] = SAME_COST if is_same else 0.0
                if is_same:
                    before = self.centers.copy()
                    self._swap()
                    self.later[before != self.centers] = 1.0
                yield 1
                continue
            a, at = np.unravel_index(int(within.argmax()), within.shape)
            r, limit = (
                int(self.centers[a]),
                max(1, (n_between / between_yes) / (n_within / within_no)),
            )
            for n_asked in range(1, len(self.listed[0])):
                place = self.places[r][at]
                is_same = same(int(self.rows[r]), int(self.listed[r, place]))
                n_within, within_no = n_within + 1, within_no + (not is_same)
                self.right[r, place] = is_same
                yield 1
                if is_same or not self._replace(r, int(at)):
                    break
                if n_asked >= limit:
                    self.later[a, at] *= LATER
                    break

    def _replace(self, r: int, at: int) -> bool:
        """Put the next nearest free row in place of one; return whether there is one."""
        used = {int(row) for row in self.exemplars().ravel()}
        for place in range(self.listed.shape[1]):
            if (r, place) not in self.right and int(self.listed[r, place]) not in used:
                self.places[r][at] = place
                return True
        return False
