"""Guided clustering of all rows: which evidence there is decides which model explains it.

- Features and answers: one model of groups, see `_search`. If features tell nothing, answers about
  three rows may depend on degrees of likeness: spaces explain them instead, see `_alone`.
- Answers alone: the same model over spaces of the answers; or many small groups of matches.
- Features alone: an average of base clusterings, see `_unconstrained`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster
from scipy.sparse import csr_array
from scipy.stats import rankdata

from clew._limits import MANY_ROWS
from clew._parallel import Progress, ProgressReport
from clew._warnings import silenced, warn
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided import _alone as alone
from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._continued import FittedState, Tree
from clew.cluster.guided._errors import (
    AnswerErrors,
    errors_given_groups,
    errors_given_labels,
    informative_answers,
    judged_answers,
    without_copies,
    without_many_repeats,
)
from clew.cluster.guided._features import Prepared, Rows
from clew.cluster.guided._partitions import SETTINGS, Floats, Labels, log_prediction, refined
from clew.cluster.guided._pool import Member, checked_members, is_default, supports_of
from clew.cluster.guided._result import (
    Alternative,
    GuidedResult,
    Regime,
    alternatives_of,
    warn_of_reversed_answers,
)
from clew.cluster.guided._search import ROUNDS, TEMPERS, Groups, continue_groups, fit_groups
from clew.cluster.guided._smoothers import ShareSmoother
from clew.cluster.guided._tree import tree_of_evidence, tree_of_positions
from clew.cluster.guided._unconstrained import groups_without_answers, n_different_rows
from clew.constraints import Constraints
from clew.constraints._closure import implied_partition
from clew.exceptions import FewerGroupsWarning, InvalidArgumentError, NoGroupsWarning
from clew.metrics import n_violated
from clew.metrics.likelihood import answer_counts, log_likelihood_of_each
from clew.trust import answer_posterior

if TYPE_CHECKING:
    from clew.cluster.guided.guided_clustering import GuidedClustering

#: Parameters that `partial_fit` cannot change.
PARAMETERS = (
    "n_clusters", "pool", "metric", "standardize", "scale", "n_anchors", "random_state"
)  # fmt: skip
#: Features decide nothing if they tell less than this about a row's group, in nats.
LEAST_INFORMATION = 0.1
#: Held-out answers are predicted if their log-likelihood exceeds that of one probability for all
#: of them by so many nats; groups are found if their energy exceeds that of one group by as many.
LEAST_LEAD = 4.0
#: Where answers join all rows, as swapped ones may, they are compared with so many groups.
IN_PLACE_OF_ONE = 8
#: Fewer answers of an annotator do not show that they were swapped.
MANY_OF_ANNOTATOR = 20
#: Features tell of groups if rows called the same are nearer than others by so many standard
#: deviations.
LEAST_NEARNESS = 2.0
#: If one group of all rows makes such a share of the answers wrong, groups were not found.
MANY_WRONG = 0.2
#: Small groups explain nothing if less than this share of the answers "same" are within them, or
#: fewer than so many: people may have recorded only what does not belong together.
LEAST_MATCHED, FEW_MATCHED = 0.5, 3
#: Small groups of answers alone about more rows than this are not compared with those of the model.
MANY_IDENTITIES = 300
#: Up to so many rows tell too little of how groups depend on features: if groups of features alone
#: satisfy all answers, they are taken.
FEW_ROWS = 20
#: Whether answers are graded is asked of one fold of many answers, of three folds of fewer.
MANY_ANSWERS = 1_000
#: After a fold that differs by so many nats, the others are not asked.
CLEAR_LEAD = 12.0
#: Largest number of refinements in a fit, and clusterings without answers, for its progress.
N_STEPS, N_UNCONSTRAINED = 130, 5

_TOO_FEW = (
    "answers too few to group: without X, GuidedClustering puts {}, but the answers hardly tell "
    "how many groups there are; ask more questions, or give n_clusters or features"
)
_ONE_GROUP = (
    "all rows are in one group, which takes {:,} of {:,} answers for wrong: neither features nor "
    "answers tell groups apart; ask more questions, or give n_clusters"
)
_ALL_SAME = "there are no features, and all answers are 'same': groups are the rows that they join"
_SMALL = "there are no features, and correlation clustering of the answers finds {:,} small groups"
_ASKED = (
    "there are no features, and most questions were chosen by earlier answers: correlation "
    "clustering of the answers finds {:,} groups"
)
_SMALL_GIVEN = (
    "there are no features, and the {:,} groups wanted have {:.1f} rows each on the average: "
    "correlation clustering of the answers finds such small groups"
)
_UNEXPLAINED = (
    "{:,} groups of features and answers do not predict held-out answers; correlation clustering "
    "finds {:,} small ones"
)


class RowFit(NamedTuple):
    """The result of one fit."""

    result: GuidedResult
    state: FittedState
    """Parts that `partial_fit` uses again."""
    end_progress: Callable[[], None]
    """To be called when the results are stored."""


class _Fit(NamedTuple):
    """Groups, and what decided them."""

    labels: Labels
    probabilities: Any
    regime: Regime
    errors: AnswerErrors | None
    tree: Callable[[], Floats]
    numbers: Mapping[int, float] = {}
    alternatives: tuple[Alternative, ...] = ()
    scores: Mapping[str, float] = {}
    weights: Mapping[str, float] = {}
    groups: Groups | None = None
    """To move on after few answers."""
    rows: Rows | None = None


def fit_to_rows(
    model: GuidedClustering,
    answers: Constraints,
    prepared: Prepared | None,
    seeds: list[int],
    last: FittedState | None,
    callback: Progress | None,
) -> RowFit:
    """Find the groups of all rows, whose features are `prepared`; or move those of `last` on."""
    fit = _Fitting(model, answers, prepared, seeds[2], callback)
    if last is not None and last.kept is not None and last.rows is not None:
        found = fit.moved_on(last.kept, last.rows)
    elif not fit.has_answers:
        found = fit.to_features()
    elif prepared is None or not np.ptp(prepared.X, axis=0).any():
        if prepared is not None:
            warn("all rows are equal: their groups follow the answers alone", FewerGroupsWarning)
        found = fit.to_answers()
    else:
        found = fit.to_both(prepared)
    result = GuidedResult.of(
        found.labels,
        found.probabilities,
        answers,
        found.errors,
        found.regime,
        n_clusters_probabilities=dict(found.numbers),
        alternatives=found.alternatives,
        scores=dict(found.scores),
        weights=dict(found.weights),
        is_settled=last is None,
    )
    tree = Tree(found.tree)
    state = FittedState(
        parameters_of(model), seeds, tree, prepared, None, found.groups, found.rows, fit.informative
    )
    return RowFit(result, state, fit.end_progress)


def parameters_of(model: GuidedClustering) -> dict[str, Any]:
    """Return the parameters that `partial_fit` cannot change."""
    return {name: getattr(model, name) for name in PARAMETERS}


class _Fitting:
    """One fit: the evidence, and the ways to explain it."""

    def __init__(
        self,
        model: GuidedClustering,
        answers: Constraints,
        prepared: Prepared | None,
        seed: int,
        callback: Progress | None,
    ) -> None:
        self.model, self.prepared, self.seed = model, prepared, seed
        self.n_clusters = model.n_clusters
        self.informative = informative_answers(answers)
        self.answers = without_many_repeats(without_copies(self.informative))
        pairs = self.informative.as_pairs()
        self.has_answers = bool((pairs.pair_weights[~pairs.is_dont_know] > 0).any())
        self.are_about_pairs = alone.are_pairs_foremost(self.informative)
        n_members = N_UNCONSTRAINED if is_default(model.pool) else len(model.pool)
        self._n_steps, self._done = N_STEPS if self.has_answers else n_members + 1, 0
        self._report = ProgressReport(
            self._n_steps, verbose=model.verbose, what="partitions", callback=callback
        )

    def step(self) -> None:
        self._done = min(self._done + 1, self._n_steps - 1)
        self._report(self._done)

    def end_progress(self) -> None:
        self._report(self._n_steps)

    def to_features(self) -> _Fit:
        """Fit to features alone, also where answers look random."""
        if self.prepared is None:
            raise InvalidArgumentError(
                "GuidedClustering without X needs answers that put two rows together or "
                "apart; there is no answer of this kind with a positive weight"
            )
        members = None
        if not is_default(self.model.pool):
            every = self._members()
            chosen = [one for one in every if not supports_of(one.estimator)] or every
            members = {one.name: partial(one.partition, self.prepared, None) for one in chosen}
        found = groups_without_answers(
            self.prepared, self.n_clusters, self.seed, members, self.step
        )
        errors, why = None, "there are no answers that imply a pair"
        if self.has_answers:
            why = "the answers look random"
            cavity = found.probabilities[AnswerModel(self.answers).row_of_end]
            errors = self._errors_of_all(
                errors_given_groups(self.answers, cavity), found.probabilities
            )
        return _Fit(
            found.labels,
            found.probabilities,
            Regime("features", why),
            errors,
            partial(tree_of_positions, found.labels, self.prepared.X),
            found.numbers,
            scores=found.members,
            weights=dict.fromkeys(found.members, 1.0),
        )

    def to_both(self, prepared: Prepared) -> _Fit:
        """Fit to features and answers."""
        number = self.n_clusters
        if number is not None:
            n_different_rows(prepared, number)  # warns: answers may tell equal rows apart
        starts = [[one.partition(prepared, self.answers) for one in self._members()]]
        more = starts if starts[0] else []

        def fit(answers: Constraints) -> Groups:
            return fit_groups(
                prepared, answers, number, self.seed, self.model.n_jobs, self.step, more
            )

        implied = self._implied()
        is_one = implied is not None and not implied.any()
        if is_one and not alone.are_all_pairs_asked(self.answers):
            implied = None  # answers "same" alone, any of which may be wrong
        if implied is None and not more and self.answers.n_samples <= FEW_ROWS:
            with silenced():
                without = self.to_features()
            if n_violated(without.labels, self.informative) == 0:
                why = "no answer contradicts the groups of the features"
                return without._replace(regime=Regime("both", why))
        groups = fit(self.answers)
        found = self._of_groups(groups, prepared, implied)
        is_asked = not self.are_about_pairs and found.regime == "answers"
        if is_asked and self._are_graded(prepared.X, fit):
            return self.to_graded_answers(prepared.X)
        by_features = _without_answers(prepared, groups)
        are_reversed = warn_of_reversed_answers(by_features, self.informative)
        if number is None and implied is None and not are_reversed:
            self._warn_of_one_group(groups.labels)
        if implied is not None or more:
            return found
        if found.regime == "features":
            return self.to_features()
        if number is not None or not self.are_about_pairs:
            return found
        if not alone.are_answers_dense(self.informative):
            return found
        identities = alone.identities_of(self.answers, self.seed)
        if not alone.are_groups_small(identities):
            return found
        first, second = identities.labels_[self.informative.pairs[self.informative.is_must_link].T]
        if (first == second).sum() < max(LEAST_MATCHED * len(first), FEW_MATCHED):
            return found
        if _nearness_of_same(prepared, self.answers) >= LEAST_NEARNESS:
            return found
        if self._predicts_better_than_identities(fit):
            return found
        n_few, n_small = groups.probabilities.shape[1], identities.n_clusters_
        return self._of_identities(identities, _UNEXPLAINED.format(n_few, n_small))

    def to_answers(self) -> _Fit:
        """Fit to answers alone."""
        number, n = self.n_clusters, self.answers.n_samples
        implied = self._implied()

        def fit(answers: Constraints) -> Groups:
            spaces = alone.spaces_of(answers, None, self.seed)
            rows, more = alone.rows_of_spaces(spaces), alone.starts_in_spaces(spaces, number)
            return fit_groups(rows, answers, number, self.seed, self.model.n_jobs, self.step, more)

        groups = None
        is_asked = self.are_about_pairs and alone.are_mostly_asked(self.answers)
        if is_asked and number is not None:
            with silenced():
                identities = alone.identities_of(self.answers, self.seed, number, is_asked=True)
            if identities.n_clusters_ == number:
                return self._of_identities(identities, _ASKED.format(number))
        if self.are_about_pairs and number is None:
            identities = alone.identities_of(self.answers, self.seed, is_asked=is_asked)
            if self.answers.is_must_link.all() and len(self.answers.pairs) == len(self.answers):
                return self._of_identities(identities, _ALL_SAME)
            are_small = alone.are_groups_small(identities)
            if is_asked or are_small:
                is_compared = n <= MANY_IDENTITIES and not (is_asked and are_small)
                groups = fit(self.answers) if is_compared else None
                if groups is None or not (
                    alone.completes(groups.labels, identities.labels_, self.informative)
                    if is_asked
                    else self._are_evident(groups, identities, fit)
                ):
                    number_found = identities.n_clusters_
                    is_decided = implied is not None or alone.are_all_pairs_asked(self.answers)
                    is_dense = alone.are_answers_dense(self.informative)
                    if not is_decided and (number_found == n or not is_dense):
                        self._warn_of_few_answers(number_found)
                    why = (_ASKED if is_asked else _SMALL).format(number_found)
                    return self._of_identities(identities, why)
        if not self.are_about_pairs and self._are_graded(None, fit):
            return self.to_graded_answers(None)
        is_small = number is not None and n < alone.SMALL_GROUP * number
        if groups is None and not (is_small and n > MANY_IDENTITIES):
            groups = fit(self.answers)
        if is_small and self.are_about_pairs:
            identities = alone.identities_of(self.answers, self.seed, number, is_asked=is_asked)
            answers, labels = self.answers, identities.labels_
            if groups is None or _log_likelihood(
                groups.labels, answers, answers
            ) <= _log_likelihood(labels, answers, answers):
                why = _SMALL_GIVEN.format(number, n / (number or 1))
                return self._of_identities(identities, why)
        groups = groups or fit(self.answers)
        if number is None and implied is None and self._is_one_group(groups):
            identities = alone.identities_of(self.answers, self.seed, is_asked=is_asked)
            self._warn_of_few_answers(identities.n_clusters_)
            why = "there are no features, and the answers are too few to tell groups apart"
            return self._of_identities(identities, why)
        if number is None and implied is None and not alone.are_answers_dense(self.informative):
            self._warn_of_few_answers(groups.probabilities.shape[1])
        rows = alone.rows_of_spaces(alone.spaces_of(self.answers, None, self.seed))
        return self._of_groups(groups, rows, implied)

    def _are_evident(
        self,
        groups: Groups,
        identities: CorrelationClustering,
        fit: Callable[[Constraints], Groups],
    ) -> bool:
        """Whether groups are more probable than small ones, and predict held-out answers better."""
        lead = alone.evidence_of(groups.labels, self.answers)
        lead -= alone.evidence_of(identities.labels_, self.answers)
        return lead >= LEAST_LEAD and self._predicts_better_than_identities(fit)

    def _predicts_better_than_identities(self, fit: Callable[[Constraints], Groups]) -> bool:
        train, held = alone.one_fold(self.answers, self.seed)
        of_small = alone.identities_of(train, self.seed).labels_
        lead = _log_likelihood(fit(train).labels, train, held)
        return lead > _log_likelihood(of_small, train, held)

    def _warn_of_one_group(self, labels: Labels) -> None:
        n_wrong, n = n_violated(labels, self.informative), len(self.informative)
        if labels.max() == 0 and n_wrong >= MANY_WRONG * n:
            warn(_ONE_GROUP.format(n_wrong, n), NoGroupsWarning)

    def _warn_of_few_answers(self, n_groups: int) -> None:
        of_rows = f"the rows into {n_groups:,} groups"
        if n_groups == 1:
            of_rows = "all rows into one group"
        elif n_groups == self.answers.n_samples:
            of_rows = "every row into a group of its own"
        warn(_TOO_FEW.format(of_rows), NoGroupsWarning)

    def to_graded_answers(self, X: Floats | None) -> _Fit:
        """Fit spaces to answers about three rows that depend on degrees of likeness."""
        found = alone.graded_groups(self.answers, X, self.n_clusters, self.seed)
        of_partition = [np.full(len(of), alone.LEAST_ERROR) for of in self.answers.tables]
        errors = errors_given_labels(self.answers, found.labels, of_partition)
        errors = self._errors_of_all(errors, found.probabilities)
        why = "degrees of likeness explain held-out answers about three rows better than groups do"
        positions = alone.spaces_of(self.answers, X, self.seed)[0].embedding_
        n_clusters = found.probabilities.shape[1]
        return _Fit(
            found.labels,
            found.probabilities,
            Regime("answers", why),
            errors,
            partial(tree_of_positions, found.labels, positions),
            found.numbers,
            alternatives_of(found.numbers, n_clusters, found.others, self.informative),
        )

    def moved_on(self, last: Groups, rows: Rows) -> _Fit:
        """Move the partitions of the last fit on."""
        groups = continue_groups(rows, self.answers, self.n_clusters, last, self.model.n_jobs)
        return self._of_groups(groups, rows, None)

    def _members(self) -> list[Member]:
        pool = self.model.pool
        return [] if is_default(pool) else checked_members(pool, self.seed)

    def _implied(self) -> Labels | None:
        """Return the groups that consistent answers imply, if they decide each pair of rows."""
        implied = implied_partition(self.informative)
        if implied is None or self.n_clusters in (None, int(implied.max()) + 1):
            return implied
        return None

    def _are_graded(self, X: Floats | None, fit: Callable[[Constraints], Groups]) -> bool:
        """Whether a space predicts held-out answers about three rows better than groups do."""
        n = len(self.answers)
        if n < alone.FEWEST_ANSWERS or self.answers.n_samples > MANY_ROWS:
            return False
        lead = 0.0
        for number in range(1 if n >= MANY_ANSWERS else 3):
            train, every = alone.one_fold(self.answers, self.seed, number)
            held = alone.about_three_rows(every)
            if len(held) and len(train.as_pairs()):
                spaces, groups = alone.spaces_of(train, X, self.seed), fit(train)
                lead += max(alone.log_likelihood_in_space(one, held) for one in spaces)
                lead -= alone.log_likelihood_in_groups(groups, held)
                lead -= alone.gain_of_dont_knows(groups, every)
            if abs(lead) >= CLEAR_LEAD:
                break
        return lead >= LEAST_LEAD

    def _is_one_group(self, groups: Groups) -> bool:
        """Whether the answers are hardly less probable if all rows are in one group."""
        answers, share = AnswerModel(self.answers), ShareSmoother()
        one = refined(np.zeros(answers.n_samples, np.int64), answers, [share], None, ROUNDS)
        return groups.partitions[0].energy - one.energy < LEAST_LEAD

    def _of_groups(self, groups: Groups, rows: Rows, implied: Labels | None) -> _Fit:
        if implied is not None:
            memberships = np.eye(implied.max() + 1)[implied]
            groups = replace(groups, labels=implied, probabilities=memberships)
        errors = self._errors_of_all(_errors_of(groups, self.answers), groups.probabilities)
        is_open = self.n_clusters is None
        numbers = groups.number_probabilities if is_open else {}
        others = [one.labels for one in groups.partitions] if is_open else []
        n_clusters, odds = groups.probabilities.shape[1], numbers
        if groups.freer is not None and implied is None:
            lead = TEMPERS[0] * (groups.freer.energy - groups.partitions[0].energy)
            odds = {n_clusters: 1.0, groups.freer.n_clusters: float(np.exp(min(lead, 50.0)))}
            others.append(groups.freer.labels)
        names = [
            f"partition {at + 1}, {one.n_clusters} groups"
            for at, one in enumerate(groups.partitions)
        ]
        return _Fit(
            groups.labels,
            groups.probabilities,
            _regime_of(groups, rows, self.answers),
            errors,
            partial(tree_of_positions, groups.labels, rows.X),
            numbers,
            alternatives_of(odds, n_clusters, others, self.informative),
            {name: one.energy for name, one in zip(names, groups.partitions, strict=True)},
            dict(zip(names, (groups.weights / groups.weights.max()).tolist(), strict=True)),
            groups,
            rows,
        )

    def _of_identities(self, identities: CorrelationClustering, why: str) -> _Fit:
        evidence = csr_array(identities.evidence_ + identities.prior_)
        return _Fit(
            identities.labels_,
            alone.memberships_of(identities),
            Regime("identities", why),
            alone.errors_of_identities(self.informative, identities),
            partial(tree_of_evidence, identities.labels_, evidence),
        )

    def _errors_of_all(self, errors: AnswerErrors, probabilities: Floats) -> AnswerErrors:
        """Judge also the repeated answers that the fit left out."""
        if len(self.answers) == len(self.informative):
            return errors
        doubts = answer_posterior(
            self.informative, probabilities, errors.confusion, inference="belief_propagation"
        )
        return errors._replace(doubts=doubts)


def _errors_of(groups: Groups, answers: Constraints) -> AnswerErrors:
    """Errors of the answers, averaged over the partitions."""
    model = AnswerModel(answers)
    wrong = sum(w * one.wrong for w, one in zip(groups.weights, groups.partitions, strict=True))
    means = np.array([float(one.error.mean()) for one in groups.partitions])
    variance = float(groups.weights @ (means - groups.weights @ means) ** 2)
    outcomes = [np.zeros_like(of) for of in groups.partitions[0].outcomes]
    joints = [np.zeros_like(of) for of in outcomes]
    for weight, one in zip(groups.weights, groups.partitions, strict=True):
        for at, likelihood in enumerate(model.likelihoods(one.error, one.habits)):
            joint = one.outcomes[at] * likelihood
            outcomes[at] += weight * one.outcomes[at]
            joints[at] += weight * joint / np.maximum(joint.sum(axis=1, keepdims=True), 1e-12)
    # One group tells nothing about answers "different".
    least = groups.least_error if groups.partitions[0].n_clusters > 1 else 0.0
    return judged_answers(answers, model, np.asarray(wrong), outcomes, joints, variance, least)


def _regime_of(groups: Groups, rows: Rows, answers: Constraints) -> Regime:
    """Say whether features, answers or both decided the groups."""
    if not rows.has_features:
        return Regime("answers", "there are no features")
    model = AnswerModel(answers)
    count = np.bincount(model.annotators, minlength=model.n_annotators)
    rate = np.stack([one.error for one in groups.partitions]).T @ groups.weights
    # Somebody who swaps the answers tells as much as somebody who is right.
    rate = np.where(count >= MANY_OF_ANNOTATOR, np.minimum(rate, 1 - rate), rate)
    if rate @ count >= max(count.sum(), 1) * (SETTINGS.error_bounds[1] - 0.05):
        return Regime("features", "the answers look random")
    label = groups.labels
    nats = 0.0
    for smoother in rows.smoothers:
        predicted = np.exp(log_prediction(smoother.smooth(groups.probabilities), SETTINGS.floor))
        share = np.log(groups.probabilities.mean(axis=0))
        own = np.log(predicted[np.arange(len(label)), label]) - share[label]
        nats = max(nats, float(own.mean()))
    if nats < LEAST_INFORMATION:
        return Regime("answers", f"features tell {nats:.2f} nats about the group of a row")
    return Regime(
        "both", f"features tell {nats:.2f} nats about the group of a row, answers the rest"
    )


def _without_answers(prepared: Prepared, groups: Groups) -> Labels:
    """Cut Ward's tree of the features into as many groups, or into a few if there is but one."""
    number = int(groups.labels.max()) + 1
    if len(groups.labels) > MANY_ROWS:
        return groups.labels
    number = number if number > 1 else IN_PLACE_OF_ONE
    return np.asarray(fcluster(prepared.tree, number, "maxclust"), np.int64)


def _nearness_of_same(prepared: Prepared, answers: Constraints) -> float:
    """How much nearer rows called the same are than others, in standard deviations.

    The statistic of Mann and Whitney, of distances between the rows of pairs.
    """
    pairs = answers.as_pairs()
    (i, j), is_same = pairs.pairs[~pairs.is_dont_know].T, pairs.is_must_link[~pairs.is_dont_know]
    if prepared.distances is not None:
        distance = np.asarray(prepared.distances[i, j], np.float64)
    else:
        distance = np.linalg.norm(prepared.X[i] - prepared.X[j], axis=1)
    n_same, n = int(is_same.sum()), len(is_same)
    if n_same in (0, n):
        return 0.0
    rank = rankdata(distance)[is_same].mean()
    error = np.sqrt((n - n_same) * (n + 1) / (12 * n_same))
    return float(((n + 1) / 2 - rank) / error)


def _log_likelihood(labels: Labels, train: Constraints, held: Constraints) -> float:
    """Log-likelihood of held-out pair answers, by the shares of "same" in and between groups."""
    counts = answer_counts(labels, train.as_pairs())
    return float(log_likelihood_of_each(labels, held.as_pairs(), counts).sum())
