"""Guided: questions by the information in their answers, under sampled partitions."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from hashlib import sha256
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import pdist, squareform

from clew._limits import ALL_PAIRS_ROWS
from clew._validation import Allowed, RandomState, check_rectangular
from clew.answers import (
    ALL_ALIKE,
    QUESTION_KINDS,
    SAME,
    Answer,
    Kind,
    Question,
    SecondsModel,
    expand,
)
from clew.cluster.guided._features import FeatureSpace
from clew.constraints._meanings import implied
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError, InvalidParameterError
from clew.graphs import DistanceSpace
from clew.questions._answers import key_of
from clew.questions._group_questions import asked_pairs
from clew.questions._pair_order import Representatives
from clew.questions._strategy import Strategy
from clew.questions.guided._choice import EVIDENCE, NONE_DIFFERS_EVIDENCE, Candidates, checked_kinds
from clew.questions.guided._model import (
    Arrays,
    Model,
    PairAnswer,
    arrays_of,
    model_of,
    sampled,
    unsampled,
)
from clew.questions.guided._posterior import cut_at, expected_jaccard, run

__all__ = ["Guided"]
#: Answers between two updates of the model: this share of the rows, within these bounds.
UPDATE_SHARE, UPDATE_BOUNDS = 0.01, (1, 20)
#: Batches of so many answers are learned in two parts: this share of the partitions is moved when
#: all but one answer are there, and the others with the last one, which the next update learns.
LEAST_IN_PARTS, FIRST_PART = 10, 0.5
#: Number of states that are kept; with many rows fewer, so many numbers at most.
N_STATES, MOST_ENTRIES = 16, 2e7
#: With more rows than the first number, only representatives are modeled, as many as the second.
MOST_ROWS, N_REPRESENTATIVES = 2500, 2000


class Guided(Strategy):
    """Asks about the pairs whose answers are the most informative, and allows for wrong answers.

    Sixteen partitions of the rows are sampled, and moved on after each batch of answers. Their
    average is the probability that a pair is in one group; the pair asked next is the one whose
    answer has the most mutual information with the truth. The weights of features are learned from
    the answers, and so is the share of wrong answers of each annotator: an answer that contradicts
    others is checked by questions about other pairs of the same groups. The number of groups need
    not be given.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups that `labels` returns; features of pairs are scaled to groups of that
        mean size. None: as many as the answers and features support, and the size is estimated.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    standardize : bool or "auto", default="auto"
        Whether to divide each feature by its standard deviation. "auto": if features seem to be in
        different units, as those of a table; not those of an embedding, pixels or principal
        components.
    update_every : int or None, default=None
        Number of answers after which the model is updated. None: 1 % of the rows, from 1 to
        20. From 10 on, an update leaves the last answer to the next one: it is computed in two
        parts.
    kinds : "auto" or tuple of str, default=("pair",)
        Kinds of questions: "pair", "triplet", "odd_one_out", "which_of", "confirm". The questions
        with the most information per second are asked. "auto": pairs and which-of questions.
    seconds : SecondsModel, dict of str to float or None, default=None
        Seconds that answers take, or parameters of `clew.answers.SecondsModel` that differ from
        its defaults. None: its defaults, refitted to the times of the answers, `Answer.ms`.
    n_representatives : int or None, default=None
        Number of rows that are modeled and asked about; every other row follows the nearest one.
        None: all rows, or 2,000 of them if there are more than 2,500.
    random_state : int, RandomState or None, default=None
        Seed of k-means and of the sampled partitions.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    The log-odds that two sets of rows are one group are ``0.35 * mean(W) + 0.65 * max(W) + sum(E)``
    over the pairs between them. W are log-odds from distances: a linear function of seven features
    of a pair (scaled distance, rank, co-association of k-means, diffusion, the smallest joint nodes
    of Ward and average linkage) and of the log-likelihood ratio of the pair under Gaussian groups
    (as in PLDA). E is the evidence of answers, ``log((1 - e) / e)`` for an error rate e. Partitions
    are moved by Gibbs sampling of rows and of whole groups, and by splits. The probability of a
    pair is averaged over the possible next moves. The labels have the best expected Jaccard index
    of pairs, and change only where others are clearly better. For labels, probabilities are
    averaged over the states after the last answers, and over more of these states if more answers
    are wrong. As answers arrive, a growing part of these probabilities comes from a regression that
    predicts from W and sizes whether two groups are one, fitted to the answers. Before any answer
    the labels are a cut of Ward's linkage of W, which counts as half of the probabilities at first,
    and less with each answer. If `n_clusters` is given and there are at most 1,000 rows, the
    linkage also separates pairs that `GuidedClustering` without answers separates.

    Answers about three rows count as the pairs that they imply, with weights so that their evidence
    adds up to about that of one answer; don't-knows are not evidence. The value of a question about
    three rows is the mutual information of the answer and the five partitions of the rows, whose
    probabilities follow from those of the pairs. A which-of question shows groups by their most
    typical rows: an item of which it is unsure to which group it belongs, or a set of rows that may
    be one with others; its value is the mutual information of the answer and the group. Unlike
    other strategies, this one may ask about a pair whose answer follows from others, where one of
    these may be wrong.

    If all distances are equal, as of items without features, answers alone join rows: the
    probability that a group holds a row is its share of the rows that were compared with it and are
    in no larger group, under a Beta prior, and less while larger groups may hold the row. These are
    also the probabilities for questions, and nothing is fitted. If only pairs are asked, the
    information in one between two groups is multiplied by the square root of their sizes. So one
    group grows at a time, by comparing every open row with it.

    For 2,000 rows, `start` takes about 6 seconds, an update of the model after 20 answers two times
    0.2 s, with two questions, and the choice of a question 5 ms, on one core. Memory O(n²) for n
    rows or representatives: 0.3 GiB for 2,000. For 100,000 rows of 64 features, `start` takes 20 s
    and an update 1 s.

    References
    ----------
    S. Ioffe, "Probabilistic linear discriminant analysis", ECCV 2006 (the ratio); A. Strehl and
    J. Ghosh, "Cluster ensembles", JMLR 2002 (co-association). The rest is clew's own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.metrics import adjusted_rand_score
    >>> from clew.oracles import SimulatedOracle
    >>> from clew.questions import Guided
    >>> X, y = load_iris(return_X_y=True)
    >>> oracle = SimulatedOracle(y, error=0.1, origin="asked", random_state=0)
    >>> strategy = Guided(random_state=0).start(X)
    >>> while len(strategy.answers) < 60:
    ...     _ = strategy.tell(oracle.answer_all(strategy.ask(2)))
    >>> bool(adjusted_rand_score(y, strategy.labels()) > 0.7)
    True
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
        "standardize": (Allowed(names=("auto",)), Allowed(kind=bool)),
        "update_every": Allowed(kind=int, low=1, none=True),
        "n_representatives": Allowed(kind=int, low=2, high=ALL_PAIRS_ROWS, none=True),
    }

    #: `labels` are a draft: sessions end with `GuidedClustering`.
    has_own_groups = False
    learns_kinds = QUESTION_KINDS

    _kinds: tuple[Kind, ...]
    _seconds: SecondsModel
    _items: Representatives
    _codes: dict[str, int]
    _given: list[Answer]
    _waiting: list[Answer]
    _candidates: Candidates | None
    _state: tuple[list[Answer], Model] | None
    """The last state, with the answers that it follows from."""
    _earlier: list[tuple[list[Answer], Arrays]]
    """Earlier states, so that an answer can be taken back without replaying all others."""
    _saved: tuple[NDArray[np.int64], Model] | None
    _begun: tuple[list[Answer], Generator[float, None, Model]] | None
    """An update that is computed in part, with the answers that it learns."""

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        standardize: bool | Literal["auto"] = "auto",
        update_every: int | None = None,
        kinds: Literal["auto"] | Sequence[Kind] = ("pair",),
        seconds: Mapping[str, float] | SecondsModel | None = None,
        n_representatives: int | None = None,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.standardize = standardize
        self.update_every = update_every
        self.kinds = kinds
        self.seconds = seconds
        self.n_representatives = n_representatives
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        self._kinds, self._seconds = checked_kinds(self.kinds, self.seconds)
        if self.metric == "euclidean":
            X = FeatureSpace.fit(X, standardize=self.standardize, seed=self._seed).transform(X)
        n = len(X)
        wanted = self.n_representatives or (n if n <= MOST_ROWS else N_REPRESENTATIVES)
        self._items = Representatives.of(X, self.metric, min(wanted, n), self._seed)
        n_items = len(self._items.rows)
        if self.n_clusters is not None and self.n_clusters > n_items:
            raise InvalidParameterError(
                f"Guided(n_clusters={self.n_clusters}): there are only {n_items} representatives"
            )
        data = self._items.data(X, self.metric)
        distances = (data + data.T) / 2 if self.metric == "precomputed" else squareform(pdist(data))
        coordinates = DistanceSpace.fit(distances, seed=self._seed).transform(distances)
        self._start = unsampled(distances, coordinates, self.n_clusters, self._seed, self.n_jobs)
        self._state, self._earlier, self._saved, self._begun = None, [], None, None
        low, high = UPDATE_BOUNDS
        self._batch = self.update_every or min(max(low, int(UPDATE_SHARE * n)), high)
        self._lag = int(self._batch >= LEAST_IN_PARTS)

    def _forget(self) -> None:
        self._codes, self._waiting, self._candidates = {}, [], None
        self._given = []

    def _learn(self, answers: Sequence[Answer]) -> None:
        for answer in answers:
            self._codes.setdefault(answer.annotator, len(self._codes))
        self._given += answers
        if not self._given and self._state is None:
            return  # partitions are sampled when they are first needed, or were saved
        self._go_back()
        if self._state is None and self._saved is not None:
            self._take_saved(*self._saved)
        known, model = self._current()
        while (n := len(known) + self._batch - (0 if known else self._lag)) <= len(self._given):
            begun, self._begun = self._begun, None
            if begun is None or begun[0] != self._given[:n]:
                batch = self._pairs(self._given[len(known) : n])
                begun = self._given[:n], model.learning(batch)
            if len(self._given) < n + self._lag:
                next(share for share in begun[1] if share >= FIRST_PART)
                self._begun = begun
                break
            self._earlier.append((known, arrays_of(model)))
            n_states = min(N_STATES, max(3, int(MOST_ENTRIES / len(self._items.rows) ** 2)))
            if len(self._earlier) >= n_states:
                del self._earlier[1]
            known, model = begun[0], run(begun[1])
            self._state, self._candidates = (known, model), None
        self._waiting = self._given[len(known) :]

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_begun": None}  # a part of an update cannot be copied

    def _go_back(self) -> None:
        """Return to the last state whose answers begin those that are learned, or to none."""
        if self._state is None or self._state[0] == self._given[: len(self._state[0])]:
            return
        self._state, self._candidates = None, None
        while self._earlier and self._state is None:
            known, arrays = self._earlier.pop()
            if known == self._given[: len(known)]:
                self._state = known, model_of(self._start, arrays)

    def _current(self) -> tuple[list[Answer], Model]:
        """Return the last state, with its answers; the first one is sampled here."""
        if self._state is None:
            self._state = [], sampled(self._start)
        return self._state

    def _saved_state(self) -> Arrays:
        """Return the partitions after the last batch of answers, and averages of probabilities."""
        answers, model = self._current()
        return arrays_of(model) | {"answers": _digest(answers)}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        self._saved = state["answers"], model_of(self._start, state)
        self._state, self._earlier = None, []

    def _take_saved(self, digest: NDArray[np.int64], model: Model) -> None:
        """Continue from a saved state if the answers begin with those that it follows from."""
        first = self._given[: int(digest[0])]
        if np.array_equal(_digest(first), digest):
            self._state = first, model
        self._saved = None

    def _pairs(self, answers: Sequence[Answer]) -> list[PairAnswer]:
        found = []
        for answer in answers:
            if answer.weight == 0:
                continue
            number = self._items.number[list(answer.question.rows)]
            kind = answer.question.kind
            weights = EVIDENCE.get(kind, (1.0, 1.0))
            if (kind, answer.value) == ("odd_one_out", ALL_ALIKE):
                weights = (NONE_DIFFERS_EVIDENCE, 0.0)
            found += [
                PairAnswer(
                    int(number[i]),
                    int(number[j]),
                    said == SAME,
                    weight * weights[0 if said == SAME else 1],
                    self._codes[answer.annotator],
                )
                for i, j, said, weight in expand(answer)
                if number[i] != number[j]
            ]
        return found

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        model = self._current()[1]
        if self._candidates is None:
            views, taken = model.views, self._taken()
            self._candidates = Candidates(
                model.same, views.pairs, model.labels, taken, model.error, views.has_features
            )
        rows, number = self._items.rows, self._items.number
        asked = [*(answer.question for answer in self._waiting), *pending]
        if self._kinds == ("pair",):
            busy = [(int(number[q.rows[0]]), int(number[q.rows[1]])) for q in asked]
            pairs = self._candidates.best(n, [(i, j) for i, j in busy if i != j])
            return [Question("pair", (int(rows[i]), int(rows[j]))) for i, j in pairs]
        pending = [q for q in (_renumbered(q, number) for q in asked) if q]
        others = [answer.question for answer in self._given if answer.question.kind != "pair"]
        known = {key_of(q) for q in (_renumbered(q, number) for q in others) if q}
        n_confirm = sum(question.kind == "confirm" for question in others)
        without = frozenset(at for at, row in enumerate(rows.tolist()) if row in self._without)
        questions = self._candidates.best_of_kinds(
            n, self._kinds, self._pace(), pending, known, n_confirm, without
        )
        return [
            Question(q.kind, tuple(int(rows[i]) for i in q.rows), parts=q.parts) for q in questions
        ]

    def _pace(self) -> SecondsModel:
        """Seconds that answers take: those of the parameter, or as they were measured."""
        if self.seconds is not None:
            return self._seconds
        return self.pace or self._seconds.fitted(self._given)

    def _taken(self) -> NDArray[np.bool_]:
        """Mark pairs that were asked, or that one question about more rows included."""
        taken = np.eye(len(self._items.rows), dtype=np.bool_)
        number = self._items.number
        for answer in self._given:
            if answer.origin == "rule":  # people may be asked the same
                continue
            for i, j in asked_pairs(answer):
                taken[number[i], number[j]] = taken[number[j], number[i]] = True
        return taken

    def _group(self) -> NDArray[np.int64]:
        model = self._current()[1]
        labels = model.shown.labels
        if self.n_clusters is not None:
            labels = cut_at(model.shown.average, model.views.pairs, labels, self.n_clusters)
        return labels[self._items.number]

    @property
    def _model(self) -> Model:
        self._started()
        return self._current()[1]

    def probabilities(
        self, pairs: ArrayLike | None = None, *, for_questions: bool = False
    ) -> NDArray[np.float32]:
        """Return the probability that the rows of a pair are in one group.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), default=None
            Row numbers. None: all pairs.
        for_questions : bool, default=False
            Return the probabilities by which questions are chosen: that two groups are one is then
            a probability fitted to the answers, and less certain.

        Returns
        -------
        ndarray of shape (n_pairs,) or (n_samples, n_samples), float32
            As of the last update of the model; see `update_every`.

        Raises
        ------
        InvalidConstraintsError
            If `pairs` are not row numbers.
        InvalidArgumentError
            If all pairs of more than 5,000 rows are wanted.
        """
        same = self._model.same.questions if for_questions else self._model.same.labels
        if pairs is None:
            return self._of_all_pairs(same)
        i, j = self._items.number[_checked(pairs, self.n_samples_)].T
        return np.where(i == j, np.float32(1), same[i, j])

    def answer_doubts(self) -> NDArray[np.float64]:
        """Return the probability that each answer is wrong.

        Returns
        -------
        ndarray of shape (n_answers,)
            In the order of `answers`; 0 for don't-knows. An answer about three rows is as doubtful
            as the most doubtful pair that it implies.
        """
        model = self._model
        n_known = len(self._current()[0])
        doubts = np.zeros(len(self._given))
        for at, answer in enumerate(self._given):
            if answer.is_dont_know:
                continue
            number = self._items.number[list(answer.question.rows)]
            rate = model.rate.by_annotator.get(self._codes[answer.annotator], model.error)
            for i, j, said in implied(answer):
                p = float(model.same.labels[number[i], number[j]])
                wrong = 1 - p if said == SAME else p
                if at >= n_known:  # p is the probability before this answer
                    wrong = wrong * rate / (wrong * rate + (1 - wrong) * (1 - rate))
                doubts[at] = max(doubts[at], wrong)
        return doubts

    def expected_jaccard(self) -> float:
        """Return the expected Jaccard index of pairs, of `labels` and the true groups.

        Returns
        -------
        float
            Expected under the model: where features or annotators mislead the model, the true
            index is lower. If rows follow representatives, only these are counted.
        """
        labels = self.labels()[self._items.rows]
        return expected_jaccard(self._model.shown.average, labels)

    def error_rate(self) -> float:
        """Return the estimated share of wrong answers of all annotators.

        Returns
        -------
        float
            Before any answer, the mean of the prior.
        """
        return self._model.error

    def error_rates(self) -> dict[str, float]:
        """Return the estimated share of wrong answers of each annotator.

        Returns
        -------
        dict of str to float
            For the annotators of the answers that the model knows.
        """
        known = self._model.rate.by_annotator
        return {name: known[code] for name, code in self._codes.items() if code in known}

    def _of_all_pairs(self, same: NDArray[np.float32]) -> NDArray[np.float32]:
        number = self._items.number
        if len(number) == len(same):
            return same.copy()
        if len(number) > ALL_PAIRS_ROWS:
            raise InvalidArgumentError(
                f"probabilities() of all pairs of {len(number)} rows do not fit in memory; name "
                f"pairs, or use at most {ALL_PAIRS_ROWS} rows"
            )
        full = same[np.ix_(number, number)]
        full[number[:, None] == number[None, :]] = 1.0
        return full


def _checked(pairs: ArrayLike, n_samples: int) -> NDArray[np.int64]:
    rows = check_rectangular(pairs, "pairs")
    if rows.size == 0:
        return np.empty((0, 2), np.int64)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise InvalidConstraintsError(
            f"pairs must be row numbers of shape (n_pairs, 2), got an array of shape {rows.shape} "
            f"and type {rows.dtype}"
        )
    if rows.min() < 0 or rows.max() >= n_samples:
        raise InvalidConstraintsError(
            f"pairs must hold row numbers below {n_samples}, got {rows.min()} to {rows.max()}"
        )
    return rows.astype(np.int64)


def _digest(answers: Sequence[Answer]) -> NDArray[np.int64]:
    """Return the number of answers, and a checksum of what they say."""
    sums = sha256()
    for answer in answers:
        question = answer.question
        parts = question.kind, question.rows, question.parts, answer.value, answer.annotator
        sums.update(repr((*parts, float(answer.weight))).encode())
    return np.array([len(answers), *np.frombuffer(sums.digest(), np.int64)])


def _renumbered(question: Question, number: NDArray[np.int64]) -> Question | None:
    """Return the question about representatives, or None if two rows have the same one."""
    rows = tuple(int(number[row]) for row in question.rows)
    return (
        Question(question.kind, rows, parts=question.parts) if len(set(rows)) == len(rows) else None
    )
