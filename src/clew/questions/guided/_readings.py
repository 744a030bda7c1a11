"""Readings of `Guided`: probabilities of pairs, doubtful answers, error rates, expected quality."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._validation import check_rectangular
from clew.answers import SAME, Answer
from clew.constraints._meanings import implied
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError
from clew.questions._pair_order import Representatives
from clew.questions._strategy import Strategy
from clew.questions.guided._cores import count_cores
from clew.questions.guided._labels import expected_jaccard
from clew.questions.guided._model import Model


class Readings(Strategy):
    """The public methods of `Guided` that read its model, as of the last update of the model."""

    _states: list[tuple[list[Answer], Model]]
    """Answers, and the state of the model after them; the last one is the present one."""
    _items: Representatives
    _codes: dict[str, int]
    _given: list[Answer]

    @abstractmethod
    def _current(self) -> tuple[list[Answer], Model]:
        """Return the last state, with its answers."""

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

    def n_cores(self) -> int:
        """Return the number of sets of rows that are each surely in one group.

        Returns
        -------
        int
            It falls from the number of rows to the number of groups as answers arrive. The fewer
            cores there are, the fewer questions remain.
        """
        return count_cores(self._model.same.labels)

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
