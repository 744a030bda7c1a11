"""Positions of rows from answers: distinct answers, their probabilities, the start, the solver.

`OrdinalModel.fit` merges equal answers, and `fit_positions` finds the positions of largest
posterior probability: by L-BFGS, or by Adam on blocks of many answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.optimize import minimize
from scipy.sparse import coo_array, csr_array
from scipy.special import expit, softmax

from clew._parallel import blocks, stop_if_abandoned
from clew.answers import ALL_ALIKE, SAME, Kind
from clew.constraints import Constraints
from clew.constraints._tables import AnswerTable
from clew.kernels.ordinal import DISTANCE, T_STE, comparison_loss, pair_loss

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Form = Literal["tste", "distance"]

#: Positions of the pair of rows that each answer puts together, by its code.
PAIR_OF_ANSWER = {
    "triplet": np.array([(0, 1), (0, 2)], np.int64),
    "odd_one_out": np.array([(1, 2), (0, 2), (0, 1)], np.int64),
}
#: Positions, in the rows of `DistinctAnswers`, of the pairs that a question compares. The answer
#: is that the first pair is the closest.
OPTIONS = {
    "triplet": np.array([(0, 1), (0, 2)], np.int64),
    "odd_one_out": np.array([(0, 1), (0, 2), (1, 2)], np.int64),
}
#: "All alike" is one answer, but three pairs.
WEIGHT_OF_ALIKE = 1 / 3
#: "Same" and "different" have equal total weight, unless one is rarer than this share.
LEAST_SHARE = 1 / 6
#: Added to squared distances before the square root, whose derivative is infinite at 0.
SMOOTHING = 1e-3
#: Squared distance at which a pair is as likely the same as different.
THRESHOLD = 2.0
#: Slopes of which the posterior is computed, and standard deviation of the prior of their logs.
SLOPES = (0.05, 0.15, 0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0)
PRIOR_DEVIATION = 0.5
#: Answers whose probabilities are computed at a time.
ANSWERS_PER_BLOCK = 1 << 17
#: Prior variances of the part of a row's position that its features explain, and of the rest.
FEATURE_VARIANCE, REST_VARIANCE = 1.0, 0.1
#: Factor of the starting positions in the part of the weights that features do not explain.
REST_OF_START = 0.5
#: Ridge of the regression of the start on features.
START_RIDGE = 0.1
#: Answers in a block of Adam, passes over all answers, and its largest and smallest step.
BLOCK_ANSWERS = 1 << 16
N_PASSES, N_PASSES_AGAIN = 10, 4
LARGEST_STEP, SMALLEST_STEP = 0.1, 0.002
DECAY, SQUARED_DECAY, TINY = 0.9, 0.99, 1e-8
#: Up to this number of rows, all eigenvectors of the start are computed.
DENSE_SOLVER_ROWS = 400
#: Standard deviation of the starting positions, and of the noise that is added to them.
DEVIATION, NOISE = 0.5, 0.05
#: Added to the counts of a row, so that a row with few answers has no large entries.
PSEUDO_ANSWERS = 1.0
#: Extra vectors and iterations of the eigensolver for many rows.
OVERSAMPLING, N_ITERATIONS = 8, 40


def definite(answers: Constraints) -> Constraints:
    """Select the answers of positive weight that are not don't-know."""
    masks = [
        (table.weights > 0) & (table.answers >= (ALL_ALIKE if table.kind == "odd_one_out" else 0))
        for table in answers.tables
    ]
    return answers.select(pairs=masks[0], triplets=masks[1], odd_one_out=masks[2])


class DistinctAnswers(NamedTuple):
    """Answers of one kind; equal ones are merged. The order of their rows encodes the answer."""

    rows: Integers
    """(m, 2) or (m, 3). Triplet: the first row of the question, the nearer and the farther row.
    Odd-one-out: the two others, the smaller first, and the odd one. Pair: the smaller row first."""
    is_same: NDArray[np.bool_]  # for pairs, whether the answer is "same"; else True; (m,)
    annotators: Integers
    weights: Floats  # sums of weights, (m,)

    def take(self, which: Integers | slice) -> Self:
        return type(self)._make(column[which] for column in self)


class OrdinalAnswers(NamedTuple):
    """Distinct answers of all kinds."""

    pair: DistinctAnswers
    triplet: DistinctAnswers
    odd_one_out: DistinctAnswers
    pair_log_odds: float  # of "same", that the weights of pairs add, see `_balanced`

    @classmethod
    def of(cls, answers: Constraints, *, by_annotator: bool) -> Self:
        """Merge equal definite answers, of each annotator or of all, and balance the pairs."""
        pairs, triplets, odd_one_out = (table.in_row_order() for table in answers.tables)
        is_none = odd_one_out.answers == ALL_ALIKE
        balanced, log_odds = _balanced(
            _merged(pairs.rows, pairs.answers == SAME, pairs, by_annotator)
        )
        alike = odd_one_out.take(is_none)
        parts = [
            _merged(alike.rows[:, ends], np.ones(len(alike), bool), alike, by_annotator)
            for ends in ([0, 1], [0, 2], [1, 2])
        ]
        parts = [part._replace(weights=WEIGHT_OF_ALIKE * part.weights) for part in parts]
        columns = zip(*parts, balanced, strict=True)
        # The nearer row of a triplet comes before the farther one, and the odd one last.
        at, nearer = np.arange(len(triplets)), triplets.answers
        farther = triplets.rows[at, 2 - nearer]
        by_distance = np.column_stack([triplets.rows[:, 0], triplets.rows[at, 1 + nearer], farther])
        comparing = odd_one_out.take(~is_none)
        odd = comparing.answers[:, None]
        others = np.sort((odd + np.array([1, 2])) % 3, axis=1)
        odd_last = np.take_along_axis(comparing.rows, np.hstack([others, odd]), axis=1)
        return cls(
            DistinctAnswers(*(np.concatenate(column) for column in columns)),
            _merged(by_distance, None, triplets, by_annotator),
            _merged(odd_last, None, comparing, by_annotator),
            log_odds,
        )

    @property
    def n_answers(self) -> int:
        return sum(len(table.rows) for table in self.tables)

    @property
    def tables(self) -> tuple[DistinctAnswers, DistinctAnswers, DistinctAnswers]:
        return self.pair, self.triplet, self.odd_one_out

    def named_rows(self) -> Integers:
        """Return the rows that answers name, sorted."""
        return np.unique(np.concatenate([table.rows.ravel() for table in self.tables]))

    def renumbered(self, names: Integers) -> Self:
        """Replace each row by its position in `names`."""
        return self.with_tables(
            t._replace(rows=np.searchsorted(names, t.rows)) for t in self.tables
        )

    def with_tables(self, tables: Iterable[DistinctAnswers]) -> Self:
        pair, triplet, odd_one_out = tables
        return self._replace(pair=pair, triplet=triplet, odd_one_out=odd_one_out)


def _merged(
    rows: Integers, is_same: NDArray[np.bool_] | None, table: AnswerTable, by_annotator: bool
) -> DistinctAnswers:
    """Sort answers and merge equal ones, whose weights are added."""
    same = np.ones(len(rows), bool) if is_same is None else is_same
    who = table.annotators if by_annotator else np.zeros(len(rows), np.int64)
    columns = [who, same.astype(np.int64), *rows.T[::-1]]
    order = np.lexsort(columns)
    is_new = np.zeros(len(rows), bool)
    is_new[:1] = True
    for column in columns:
        is_new[1:] |= column[order][1:] != column[order][:-1]
    first = order[is_new]
    weights = np.bincount(np.cumsum(is_new) - 1, table.weights[order], minlength=len(first))
    return DistinctAnswers(
        np.ascontiguousarray(rows[first]), same[first], who[first], weights.astype(np.float64)
    )


def _balanced(pairs: DistinctAnswers) -> tuple[DistinctAnswers, float]:
    """Give "same" and "different" equal total weight; also return the log-odds that this adds."""
    total = float(pairs.weights.sum())
    if total == 0:
        return pairs, 0.0
    share = np.clip(float(pairs.weights[pairs.is_same].sum()) / total, LEAST_SHARE, 1 - LEAST_SHARE)
    same, different = 0.5 / share, 0.5 / (1 - share)
    factor = np.where(pairs.is_same, same, different)
    return pairs._replace(weights=pairs.weights * factor), float(np.log(same / different))


class Response(NamedTuple):
    """How probabilities of answers depend on distances."""

    form: Form
    lapse: float  # share of answers that are random

    @property
    def code(self) -> int:
        """The form, as kernels take it."""
        return T_STE if self.form == "tste" else DISTANCE

    def dissimilarity(self, squared: Floats) -> Floats:
        """Return the dissimilarity at squared distances."""
        if self.form == "tste":
            return np.asarray(np.log1p(squared))
        return np.asarray(np.sqrt(squared + SMOOTHING))

    def of_options(self, dissimilarities: Floats, slope: Floats | float) -> Floats:
        """Return the probability of each option, (m, n_options)."""
        scores = -dissimilarities * np.reshape(slope, (-1, 1))
        n_options = dissimilarities.shape[1]
        return np.asarray(self.lapse / n_options + (1 - self.lapse) * softmax(scores, axis=1))

    def of_same(self, squared: Floats, slope: Floats | float, log_odds: float = 0.0) -> Floats:
        """Return the probability of "same", (m,)."""
        scores = slope * (THRESHOLD - squared) - log_odds
        return np.asarray(self.lapse / 2 + (1 - self.lapse) * expit(scores))


def squared_distances(space: Floats, rows: Integers, options: Integers) -> Floats:
    """Return the squared distance of each option's pair of rows, (m, n_options)."""
    result = np.empty((len(rows), len(options)))
    for start in range(0, len(rows), ANSWERS_PER_BLOCK):
        part = slice(start, start + ANSWERS_PER_BLOCK)
        for column, (i, j) in enumerate(options):
            difference = space[rows[part, i]] - space[rows[part, j]]
            result[part, column] = np.einsum("ij,ij->i", difference, difference)
    return result


class Settings(NamedTuple):
    """Everything that the fit takes besides answers and features."""

    n_components: int
    response: Response
    penalty: float
    max_iter: int
    max_answers: int
    """Above this number of distinct answers, blocks of answers are used."""
    seed: int


class OrdinalModel(NamedTuple):
    """A fitted space: positions of all rows, and the probabilities of answers that follow."""

    embedding: Floats  # positions of all rows, (n_samples, n_components)
    feature_weights: Floats  # features to positions, (n_features or 0, n_components)
    slopes: Floats  # of each annotator, (n_annotators,)
    pair_log_odds: float  # of "same", that the weights of pairs added in the fit
    response: Response
    n_iter: int  # of the last solution

    @classmethod
    def fit(
        cls,
        answers: Constraints,
        features: Floats | None,
        settings: Settings,
        *,
        by_annotator: bool,
    ) -> Self:
        """Find the positions; without answers, these are the leading features, or all 0."""
        d = settings.n_components
        distinct = OrdinalAnswers.of(answers, by_annotator=by_annotator)
        names = distinct.named_rows()
        slopes, n_iter = np.ones(len(answers.annotators)), 1
        if not len(names):
            weights = np.eye(0 if features is None else features.shape[1], d)
        else:
            inside = None if features is None else features[names]
            space, weights, slopes, n_iter = fit_positions(
                distinct.renumbered(names), len(names), len(slopes), inside, settings
            )
            weights = np.sqrt(FEATURE_VARIANCE) * weights
        embedding = np.zeros((answers.n_samples, d)) if features is None else features @ weights
        if len(names):
            embedding[names] = space
        return cls(embedding, weights, slopes, distinct.pair_log_odds, settings.response, n_iter)

    def probabilities(self, kind: Kind, rows: Integers, slope: Floats | float) -> Floats:
        """Probability of each answer, its code the column; `slope` of one or of m annotators."""
        if kind == "pair":
            squared = squared_distances(self.embedding, rows, np.array([(0, 1)]))[:, 0]
            same = self.response.of_same(squared, slope, self.pair_log_odds)
            return np.column_stack([1 - same, same])
        squared = squared_distances(self.embedding, rows, PAIR_OF_ANSWER[kind])
        return self.response.of_options(self.response.dissimilarity(squared), slope)

    def log_likelihood(self, answers: Constraints, slopes: Floats) -> tuple[float, float]:
        """Weighted sums of log-likelihoods and of weights, without don't-know and "all alike"."""
        total = weight = 0.0
        for table in answers.tables:
            part = table.take((table.answers >= 0) & (table.weights > 0))
            if not len(part):
                continue
            p = self.probabilities(part.kind, part.rows, slopes[part.annotators])
            total += float(part.weights @ np.log(p[np.arange(len(part)), part.answers]))
            weight += float(part.weights.sum())
        return total, weight


def fit_positions(
    answers: OrdinalAnswers,
    n_rows: int,
    n_annotators: int,
    features: Floats | None,
    settings: Settings,
) -> tuple[Floats, Floats, Floats, int]:
    """Find the positions of rows, estimate the slopes of annotators, and find positions again."""
    random = np.random.RandomState(settings.seed)
    basis = Basis.of(features, n_rows)
    start = spectral_start(answers, n_rows, settings.n_components, random)
    slopes = np.ones(n_annotators)
    solve = _at_once
    if answers.n_answers > settings.max_answers:
        solve = _by_blocks
        answers = answers.with_tables(
            table.take(random.permutation(len(table.rows))) for table in answers.tables
        )
    weights, n_iter = solve(
        basis.weights_near(start), answers, basis, slopes, settings, is_first=True
    )
    if len(np.unique(np.concatenate([table.annotators for table in answers.tables]))) > 1:
        slopes = annotator_slopes(
            basis.positions(weights), answers, settings.response, n_annotators
        )
        weights, n_iter = solve(weights, answers, basis, slopes, settings, is_first=False)
    return basis.positions(weights), weights[: basis.features.shape[1]], slopes, n_iter


@dataclass
class Basis:
    """Map weights w to positions: ``z = √a·features·w₁ + √b·w₂``."""

    features: Floats  # scaled by √a, (n_rows, n_features); no columns without features
    rest: float  # √b

    @classmethod
    def of(cls, features: Floats | None, n_rows: int) -> Basis:
        if features is None:
            return cls(np.zeros((n_rows, 0)), 1.0)
        return cls(np.sqrt(FEATURE_VARIANCE) * features, float(np.sqrt(REST_VARIANCE)))

    def positions(self, weights: Floats) -> Floats:
        n_features = self.features.shape[1]
        rest = self.rest * weights[n_features:]
        return rest + self.features @ weights[:n_features] if n_features else rest

    def pulled_back(self, gradient: Floats) -> Floats:
        """Return the gradient by the weights."""
        return np.vstack([self.features.T @ gradient, self.rest * gradient])

    def weights_near(self, positions: Floats) -> Floats:
        """Return weights whose positions are near the given ones."""
        n_features = self.features.shape[1]
        if not n_features:
            return positions / self.rest
        gram = self.features.T @ self.features + START_RIDGE * np.eye(n_features)
        explained = np.linalg.solve(gram, self.features.T @ positions)
        return np.vstack([explained, REST_OF_START / self.rest * positions])


def spectral_start(
    answers: OrdinalAnswers, n_rows: int, n_components: int, random: np.random.RandomState
) -> Floats:
    """Leading eigenvectors of how often rows are together; O(n_rows³) up to 400 rows."""
    counts = _net_counts(answers, n_rows)
    n_found = min(n_components, n_rows - 1)
    if n_rows <= DENSE_SOLVER_ROWS or n_found > n_rows // 3:
        dense = counts.toarray()
        dense -= dense.mean(axis=0)
        dense -= dense.mean(axis=1, keepdims=True)
        value, vectors = eigh(dense, subset_by_index=(n_rows - n_found, n_rows - 1))
    else:
        value, vectors = _leading(counts, n_found, random)
    positions = np.zeros((n_rows, n_components))
    positions[:, : len(value)] = (vectors * np.sqrt(np.maximum(value, 1e-6)))[:, ::-1]
    deviation = positions.std() or 1.0
    return DEVIATION / deviation * positions + NOISE * random.normal(size=positions.shape)


def _net_counts(answers: OrdinalAnswers, n_rows: int) -> csr_array:
    """Count how often answers put two rows together, minus how often apart; normalize by rows."""
    pair, triplet, odd = answers.tables
    sign = np.where(pair.is_same, 1.0, -1.0)
    # Each question: positions of two rows, and what the answer adds to their count.
    entries: list[tuple[DistinctAnswers, int, int, Floats | float]]
    entries = [(pair, 0, 1, sign), (triplet, 0, 1, 1.0), (triplet, 0, 2, -1.0)]
    entries += [(odd, 0, 1, 1.0), (odd, 0, 2, -0.5), (odd, 1, 2, -0.5)]
    first = np.concatenate([table.rows[:, i] for table, i, _, _ in entries])
    second = np.concatenate([table.rows[:, j] for table, _, j, _ in entries])
    value: Floats = np.concatenate([by * table.weights for table, _, _, by in entries])
    half = csr_array(coo_array((value, (first, second)), shape=(n_rows, n_rows)))
    counts = csr_array(half + half.T)
    scale = 1 / np.sqrt(abs(counts).sum(axis=1) + PSEUDO_ANSWERS)
    return csr_array(counts.multiply(scale[:, None]).multiply(scale))


def _leading(
    counts: csr_array, n_components: int, random: np.random.RandomState
) -> tuple[Floats, Floats]:
    """Largest eigenvalues, ascending, and vectors of the centered counts, by iteration."""

    def image(vectors: Floats) -> Floats:
        product = counts @ (vectors - vectors.mean(axis=0))
        return np.asarray(product - product.mean(axis=0))

    vectors = random.normal(size=(counts.shape[0], n_components + OVERSAMPLING))
    for _ in range(N_ITERATIONS):
        vectors = np.linalg.qr(image(vectors) + vectors)[0]
    value, axes = np.linalg.eigh(vectors.T @ image(vectors))
    return value[-n_components:], vectors @ axes[:, -n_components:]


def _at_once(
    weights: Floats,
    answers: OrdinalAnswers,
    basis: Basis,
    slopes: Floats,
    settings: Settings,
    *,
    is_first: bool,
) -> tuple[Floats, int]:
    """Minimize the penalized loss of all answers by L-BFGS."""

    def objective(flat: Floats) -> tuple[float, Floats]:
        stop_if_abandoned()
        w = flat.reshape(weights.shape)
        space = np.ascontiguousarray(basis.positions(w))
        loss, gradient = _loss_and_gradient(space, answers, slopes, settings.response)
        penalty = settings.penalty
        whole = basis.pulled_back(gradient) + penalty * w
        return loss + penalty / 2 * float((w**2).sum()), whole.ravel()

    max_iter = settings.max_iter if is_first else max(1, settings.max_iter // 2)
    solution = minimize(
        objective, weights.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": max_iter}
    )
    return np.asarray(solution.x.reshape(weights.shape)), max(int(solution.nit), 1)


def _by_blocks(
    weights: Floats,
    answers: OrdinalAnswers,
    basis: Basis,
    slopes: Floats,
    settings: Settings,
    *,
    is_first: bool,
) -> tuple[Floats, int]:
    """Minimize the penalized loss by Adam, on blocks of answers that were shuffled."""
    n_blocks = max(1, len(blocks(answers.n_answers, BLOCK_ANSWERS)))
    parts = [_block(answers, at, n_blocks) for at in range(n_blocks)]
    n_steps = n_blocks * (N_PASSES if is_first else N_PASSES_AGAIN)
    largest = LARGEST_STEP if is_first else LARGEST_STEP / 4
    w = weights.copy()
    mean, square = np.zeros_like(w), np.zeros_like(w)
    for step in range(1, n_steps + 1):
        stop_if_abandoned()
        space = np.ascontiguousarray(basis.positions(w))
        part = parts[step % n_blocks]
        _, gradient = _loss_and_gradient(space, part, slopes, settings.response)
        whole = basis.pulled_back(gradient) * n_blocks + settings.penalty * w
        mean += (1 - DECAY) * (whole - mean)
        square += (1 - SQUARED_DECAY) * (whole**2 - square)
        size = SMALLEST_STEP + (largest - SMALLEST_STEP) * (1 + np.cos(np.pi * step / n_steps)) / 2
        unbiased = mean / (1 - DECAY**step)
        w -= size * unbiased / (np.sqrt(square / (1 - SQUARED_DECAY**step)) + TINY)
    return w, n_steps


def _block(answers: OrdinalAnswers, at: int, n_blocks: int) -> OrdinalAnswers:
    """Return one block, which has the same share of the answers of every kind."""
    tables = []
    for table in answers.tables:
        edges = np.linspace(0, len(table.rows), n_blocks + 1).astype(int)
        tables.append(table.take(slice(edges[at], edges[at + 1])))
    return answers.with_tables(tables)


def _loss_and_gradient(
    space: Floats, answers: OrdinalAnswers, slopes: Floats, response: Response
) -> tuple[float, Floats]:
    """Return the summed loss of answers, and its gradient by the positions."""
    gradient = np.zeros_like(space)
    loss = 0.0
    pair = answers.pair
    if len(pair.rows):
        loss += pair_loss(
            space, pair.rows, pair.is_same, slopes[pair.annotators], pair.weights,
            response.lapse, THRESHOLD, gradient,
        )  # fmt: skip
    for kind, options in OPTIONS.items():
        table: DistinctAnswers = getattr(answers, kind)
        if len(table.rows):
            loss += comparison_loss(
                space, table.rows, options, slopes[table.annotators], table.weights,
                response.lapse, response.code, SMOOTHING, gradient,
            )  # fmt: skip
    return loss, gradient


def annotator_slopes(
    space: Floats, answers: OrdinalAnswers, response: Response, n_annotators: int
) -> Floats:
    """How closely answers follow distances, (n_annotators,); log-normal prior with median 1."""
    grid = np.log(SLOPES)
    log_posterior = np.tile(-0.5 * (grid / PRIOR_DEVIATION) ** 2, (n_annotators, 1))
    for kind, table in zip(("pair", "triplet", "odd_one_out"), answers.tables, strict=True):
        options = np.array([(0, 1)]) if kind == "pair" else OPTIONS[kind]
        squared = squared_distances(space, table.rows, options)
        for column, slope in enumerate(SLOPES):
            if kind == "pair":
                p = response.of_same(squared[:, 0], slope)
                p = np.where(table.is_same, p, 1 - p)
            else:
                p = response.of_options(response.dissimilarity(squared), slope)[:, 0]
            log_posterior[:, column] += np.bincount(
                table.annotators, table.weights * np.log(p), minlength=n_annotators
            )
    return np.asarray(np.exp(softmax(log_posterior, axis=1) @ grid))
