"""The methods of a fitted model of guided clustering: prediction, explanation, summary."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedClusterer
from clew._parallel import one_library_thread
from clew._validation import is_dask
from clew.answers import DONT_KNOW
from clew.cluster.guided._checks import checked_features
from clew.cluster.guided._continued import FittedState
from clew.cluster.guided._explain import Explanation, explanation, row_number
from clew.cluster.guided._features import Metric
from clew.cluster.guided._partitions import Labels
from clew.cluster.guided._predict import RowPredictor
from clew.cluster.guided._result import (
    UNSURE,
    Alternative,
    GuidedResult,
    Regime,
    largest_probabilities,
    most_probable_groups,
    say_range,
)
from clew.constraints import Constraints
from clew.constraints._support import answers_for
from clew.exceptions import InvalidArgumentError
from clew.graphs import check_triangles
from clew.trust import AnswerPosterior, ConfusionMatrices
from clew.trust.doubts import DOUBT

#: Predictors of new rows, made when they are first needed.
PREDICTORS: WeakKeyDictionary[GuidedResult, RowPredictor] = WeakKeyDictionary()
#: Fitted attributes, which are read from `result_`.
FITTED = frozenset(f"{field.name}_" for field in fields(GuidedResult)) - {"constraints_"}

KINDS = ("pair", "triplet", "odd-one-out answer")
DECIDED_BY = {
    "features": "features",
    "answers": "answers",
    "both": "features and answers",
    "identities": "matches of rows",
}
#: Annotators that are listed, those with the highest error rates.
MAX_LISTED = 10


class FittedGroups(ConstrainedClusterer):
    """The methods of `GuidedClustering` that need a fit."""

    # scikit-learn reads these: `fit` and `score` get answers without being told to.
    __metadata_request__fit: ClassVar = {"constraints": True}
    __metadata_request__partial_fit: ClassVar = {"constraints": True}
    __metadata_request__score: ClassVar = {"constraints": True}

    n_clusters: int | None
    n_jobs: int | None
    metric: Metric | Literal["precomputed"]
    pool: Literal["default"] | Sequence[tuple[str, Any]]
    scale: str
    standardize: bool | Literal["auto"]
    table_features_: Any
    probabilities_: Any
    n_clusters_: int
    error_rate_: float
    error_interval_: tuple[float, float]
    confusion_: ConfusionMatrices
    answer_posterior_: AnswerPosterior
    scores_: dict[str, float]
    weights_: dict[str, float]
    regime_: Regime
    n_clusters_probabilities_: dict[int, float]
    n_violated_: int
    is_settled_: bool
    alternatives_: tuple[Alternative, ...]
    result_: GuidedResult
    _fitted: FittedState
    _row_ids: Any

    if not TYPE_CHECKING:  # with this method mypy would accept misspelled attributes, too

        def __getattr__(self, name: str) -> Any:
            """Read a fitted attribute from `result_`."""
            if name in FITTED and "result_" in self.__dict__:
                return getattr(self.__dict__["result_"], name[:-1])
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def tree_(self) -> NDArray[np.float64]:
        """Hierarchy of the rows, computed when first read."""
        check_is_fitted(self, "labels_")
        return self._fitted.tree.value

    def predict_proba(self, X: ArrayLike) -> Any:
        """Predict the probability of each group from the features.

        Fitted rows get their `probabilities_`. Others are predicted by the votes of their
        neighbors, the centers of groups, linear discriminants, a smoother or products of these:
        whichever predicts the groups of left-out fitted rows best. With anchors, all rows get the
        mean of their nearest anchors.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray, csr_array or Dask array of shape (n_rows, n_clusters)
            Rows add up to 1. With anchors a csr_array, as `probabilities_`; a Dask array, computed
            when read, for one.
        """
        check_is_fitted(self, "labels_")
        fitted, result = self._fitted, self.result_
        if fitted.prepared is None and fitted.anchored is None and fitted.records is None:
            raise InvalidArgumentError(
                "GuidedClustering was fitted to answers alone, without X: it cannot predict the "
                "groups of new rows"
            )
        if is_dask(X):
            return self._predicted_blocks(X)
        features = checked_features(self, X, reset=False)
        if fitted.records is not None:
            return fitted.records.predict(features)
        if fitted.anchored is not None:
            with one_library_thread():
                return fitted.anchored.predictor().predict(features, self.n_jobs)
        assert fitted.prepared is not None
        with one_library_thread():
            predictor = PREDICTORS.get(result)
            if predictor is None:
                columns, ridge = fitted.prepared.X, fitted.prepared.ridge
                predictor = RowPredictor(columns, result.probabilities, result.labels, ridge)
                PREDICTORS[result] = predictor
            return predictor.predict_proba(fitted.prepared.space.transform(features))

    def _predicted_blocks(self, X: Any) -> Any:
        """Predict the rows of a Dask array, block by block: a Dask array."""
        from clew.cluster.guided._dask import predicted  # dask is optional

        rows = checked_features(self, X, reset=False)
        anchored = self._fitted.anchored
        # With anchors, no task needs what is known of the fitted rows.
        function = self.predict_proba if anchored is None else anchored.predictor().predict
        return predicted(rows.X, function, self.n_clusters_)

    def predict(self, X: ArrayLike) -> Labels:
        """Predict the group of each row from the features.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,), int64
            `labels_` for fitted rows. Equal rows in different groups, which only answers can
            tell apart, get the group of one of them; with anchors, other rows may differ, too.

        Raises
        ------
        InvalidArgumentError
            If the model was fitted to answers alone.
        """
        probabilities = self.predict_proba(X)
        if is_dask(X):  # computed when read
            return probabilities.argmax(axis=1)  # type: ignore[no-any-return]
        return most_probable_groups(probabilities)

    def score(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        sample_weight: None = None,
    ) -> float:
        """Return the mean log-likelihood of answers, given the predicted groups.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_rows, n_features)
            Features of the rows that the answers are about; fitted rows, new ones or both.
        y : ignored
            Present by convention.
        constraints : Constraints
            Answers about the rows of `X` that the model was not fitted to.
        sample_weight : None
            Present because scikit-learn's `Pipeline` passes it on. Answers have weights, not rows.

        Returns
        -------
        float
            In nats an answer, weighted; 0 would be certainty. NaN without answers.

        Raises
        ------
        InvalidArgumentError
            If `constraints` are missing, or `sample_weight` is given.

        Notes
        -----
        scikit-learn splits answers with the rows: of each split, answers whose rows are all in one
        part stay, so no test question was seen in training. It passes them on if metadata routing
        is enabled; nothing has to be requested.

        Examples
        --------
        >>> import sklearn
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.model_selection import GridSearchCV, KFold
        >>> from clew import Constraints
        >>> from clew.cluster import GuidedClustering
        >>> X, y = load_iris(return_X_y=True)
        >>> X, y = X[::2], y[::2]
        >>> answers = Constraints.from_labels(y, n_pairs=300, random_state=0)
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     search = GridSearchCV(
        ...         GuidedClustering(random_state=0),
        ...         {"n_clusters": [2, 3]},
        ...         cv=KFold(2, shuffle=True, random_state=0),
        ...     )
        ...     search.fit(X, constraints=answers).best_params_
        {'n_clusters': 3}
        """
        check_is_fitted(self, "labels_")
        if constraints is None:
            raise InvalidArgumentError(
                f"{type(self).__name__}.score(X, constraints=constraints) needs answers about the "
                "rows of X. In a cross-validation scikit-learn passes them on after "
                "sklearn.set_config(enable_metadata_routing=True)"
            )
        if sample_weight is not None:
            raise InvalidArgumentError("score takes no sample_weight: answers have weights")
        probabilities = self.predict_proba(X)
        known = answers_for(self, constraints, probabilities.shape[0])
        weight = sum(float(table.weights.sum()) for table in known.tables)
        if weight == 0:
            return float("nan")
        is_sparse = isinstance(probabilities, csr_array)
        dense = np.asarray(probabilities.toarray() if is_sparse else probabilities)
        return self.confusion_.log_likelihood(known, dense) / weight

    def explain(self, i: Hashable, j: Hashable) -> Explanation:
        """Explain why two fitted rows are together or apart.

        Parameters
        ----------
        i, j : hashable
            Two rows: their ids if the constraints have ids, or the fitted data frame an index of
            its own; or their numbers. An integer is an id if any of the ids is an integer.

        Returns
        -------
        Explanation
            Print it to read it: the answers about both rows, the shortest chain of other answers
            that joins or separates them, and the groups of the nearest rows.

        Raises
        ------
        InvalidParameterError
            If they are not two different fitted rows.
        """
        check_is_fitted(self, "labels_")
        result = self.result_
        known = result.constraints
        if known.ids is None and self._row_ids is not None:
            known = known.with_ids(self._row_ids)
        rows = row_number(known, i), row_number(known, j)
        return explanation(
            rows, result.probabilities, known, result.answer_posterior, self._neighbors(rows)
        )

    def _neighbors(self, rows: Sequence[int] | NDArray[np.int64]) -> csr_array:
        """Return a neighbor graph in which at least the given fitted rows have their neighbors."""
        fitted, n = self._fitted, self.result_.constraints.n_samples
        if fitted.records is not None:
            return csr_array(fitted.records.graph)
        if fitted.anchored is not None:
            return csr_array(fitted.anchored.neighbors(rows))
        return csr_array((n, n)) if fitted.prepared is None else fitted.prepared.graph

    def summary(self) -> str:
        """Describe the fit as text: groups, answers, annotators, members and their weights.

        Returns
        -------
        str
            Print it to read it.
        """
        check_is_fitted(self, "labels_")
        text = summary(self.result_, is_number_given=self.n_clusters is not None)
        prepared = self._fitted.prepared
        if prepared is None or prepared.distances is None:
            return text
        return f"{text}\nDistances: {check_triangles(prepared.distances)}."


def summary(result: GuidedResult, *, is_number_given: bool) -> str:
    """Describe a fit in lines of text: groups, answers, annotators, partitions."""
    has_answers = np.isfinite(result.error_rate)
    lines = [*_groups(result, is_number_given=is_number_given), *_answers(result)]
    lines += _alternatives(result, is_number_given=is_number_given)
    if has_answers:
        lines += [*_errors(result), *_annotators(result)]
    members = _weights(result, "partition", [*result.weights]) if result.weights else []
    return "\n".join([*lines, "", *members] if members else lines)


def _groups(result: GuidedResult, *, is_number_given: bool) -> list[str]:
    sizes = np.bincount(result.labels, minlength=result.n_clusters)
    how = "given" if is_number_given else "chosen"
    probability = largest_probabilities(result.probabilities)
    return [
        f"GuidedClustering: {_counted(len(result.labels), 'row')} in "
        f"{_counted(result.n_clusters, 'group')} (number {how}) of {sizes.min():,} to "
        f"{_counted(int(sizes.max()), 'row')}",
        f"Probability of a row's group: {probability.mean():.2f} on average, below {UNSURE} for "
        f"{_counted(int((probability < UNSURE).sum()), 'row')}",
    ]


def _answers(result: GuidedResult) -> list[str]:
    known = result.constraints
    counts = [
        _counted(len(table), kind)
        for table, kind in zip(known.tables, KINDS, strict=True)
        if len(table)
    ]
    if not counts:
        is_said = result.regime == "identities"
        return ["No answers", *([f"Decided by {_decision(result)}"] if is_said else [])]
    n_unsure = sum(int((table.answers == DONT_KNOW).sum()) for table in known.tables)
    unsure = f" ({n_unsure:,} don't know)" if n_unsure else ""
    lines = [
        f"Answers: {', '.join(counts)}{unsure}, of "
        f"{_counted(len(known.annotators), 'annotator')}; the groups violate {result.n_violated:,}"
    ]
    if not np.isfinite(result.error_rate):
        lines.append("No answer is informative: the groups are those without answers")
    else:
        lines.append(f"Decided by {_decision(result)}")
    return lines


def _decision(result: GuidedResult) -> str:
    return f"{DECIDED_BY[result.regime]}: {result.regime.reason}"


def _errors(result: GuidedResult) -> list[str]:
    low, high = result.error_interval
    n_doubted = sum(int((p_wrong >= DOUBT).sum()) for p_wrong in result.answer_posterior)
    return [
        f"Error rate of the answers: {result.error_rate:.1%}, between {low:.1%} and {high:.1%} "
        f"with probability 0.95; {n_doubted:,} {'is' if n_doubted == 1 else 'are'} probably wrong"
    ]


def _annotators(result: GuidedResult) -> list[str]:
    confusion = result.confusion
    if len(confusion.annotators_) < 2:
        return []
    order = np.argsort(-confusion.error_rates_, kind="stable")
    rows = [
        (
            confusion.annotators_[at] or "(no name)",
            f"{confusion.error_rates_[at]:.1%}",
            "{:.1%} to {:.1%}".format(*confusion.error_intervals_[at]),
            f"{confusion.n_answers_[at]:,}",
        )
        for at in order[:MAX_LISTED]
    ]
    lines = ["", *_table(("annotator", "error rate", "95 % interval", "answers"), rows)]
    if len(order) > MAX_LISTED:
        lines.append(f"and {len(order) - MAX_LISTED:,} with lower error rates")
    return lines


def _alternatives(result: GuidedResult, *, is_number_given: bool) -> list[str]:
    """Say how many answers other numbers of groups violate, and whether answers decide."""
    unsure = say_range(result.n_clusters_probabilities)
    if not result.alternatives:
        return [f"Answers do not decide the number of groups: {unsure}"] if unsure else []
    counts = [(result.n_clusters, result.n_violated)]
    counts += [(one.n_clusters, one.n_violated) for one in result.alternatives]
    (first, n), *others = counts
    parts = [f"{_counted(first, 'group')} violate {n:,} answers"]
    parts += [f"{number:,} violate {n_of:,}" for number, n_of in others]
    doubt = unsure and f"; answers do not decide the number: {unsure}"
    if is_number_given:
        doubt = "; answers and features hold more groups than were wanted"
    return [f"{', '.join(parts)}{doubt}"]


def _weights(result: GuidedResult, heading: str, names: Sequence[str]) -> list[str]:
    order = sorted(names, key=lambda name: -result.weights[name])
    rows = [(name, f"{result.weights[name]:.2f}", f"{result.scores[name]:.3f}") for name in order]
    return _table((heading, "weight", "score"), rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Align columns: the first to the left, numbers to the right."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if at == 0 else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
