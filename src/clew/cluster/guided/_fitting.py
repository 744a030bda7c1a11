"""One fit of guided clustering to all rows: by the one model, or by a consensus of members."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster

from clew._limits import MANY_ROWS
from clew._parallel import Progress, ProgressReport
from clew._warnings import warn
from clew.cluster.guided._answers.answers_alone import (
    are_answers_dense,
    are_pairs_foremost,
    spaces_worth_fitting,
)
from clew.cluster.guided._answers.identities import are_groups_small, identities_of
from clew.cluster.guided._choice import choose_groups
from clew.cluster.guided._continued import FittedState, Tree
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._ensemble.folds import split_answers
from clew.cluster.guided._ensemble.progress import Counter, Steps, no_step
from clew.cluster.guided._ensemble.repeats import without_many_repeats
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._fit import (
    Groups,
    Labels,
    alternatives_of,
    continue_groups,
    errors_of,
    fit_groups,
    regime_of_groups,
    tree_of_features,
)
from clew.cluster.guided._members.members import is_default, members_of
from clew.cluster.guided._numbers.rows import n_different_rows
from clew.cluster.guided._numbers.search import max_steps
from clew.cluster.guided._result.guided_result import GuidedResult
from clew.cluster.guided._result.result import Result, of_all_answers
from clew.cluster.guided._result.reversed_answers import warn_of_reversed_answers
from clew.cluster.guided._result.tree import tree_of_positions
from clew.cluster.guided._solution import max_fits
from clew.constraints import Constraints
from clew.constraints._closure import implied_partition
from clew.exceptions import FewerGroupsWarning, InvalidArgumentError
from clew.metrics import n_violated
from clew.trust import answer_posterior

if TYPE_CHECKING:
    from clew.cluster.guided.guided_clustering import GuidedClustering

__all__ = ["RowFit", "fit_to_rows", "parameters_of"]

#: Parameters that `partial_fit` cannot change.
PARAMETERS = (
    "n_clusters", "pool", "metric", "standardize", "scale", "n_anchors", "random_state"
)  # fmt: skip


class RowFit(NamedTuple):
    """The result of one fit."""

    result: GuidedResult
    state: FittedState
    """Parts that `partial_fit` uses again."""
    progress: Counter
    """Progress; the caller ends it when the results are stored."""


def fit_to_rows(
    model: GuidedClustering,
    known: Constraints,
    prepared: Prepared | None,
    seeds: list[int],
    last: FittedState | None,
    callback: Progress | None,
) -> RowFit:
    """Find the groups of all rows: by the one model if there are features and answers about pairs.

    Parameters
    ----------
    model : GuidedClustering
        The model with the parameters; it is not changed.
    known : Constraints
        All answers.
    prepared : Prepared or None
        Parts that do not depend on answers; None without features.
    seeds : list of 4 int
        Seeds of the features, the folds, the members and the consensus.
    last : FittedState or None
        The last fit, whose partitions are moved on, or whose members are used as they are; None: a
        fit from scratch.
    callback : callable or None
        Called after each refinement of a partition, or fit of a member.

    Returns
    -------
    RowFit

    Raises
    ------
    InvalidArgumentError
        If there are neither features nor informative answers.
    """
    informative = informative_answers(known)
    if prepared is not None and is_default(model.pool) and _are_about_pairs(informative):
        implied = implied_partition(informative)
        found = _fit_partitions(model, known, informative, implied, prepared, seeds, last, callback)
        if last is not None or implied is not None:
            return found
        if found.result.regime != "both":  # answers or features look random
            return _fit_members(model, known, informative, prepared, seeds, None, callback)
        if _is_explained(model, found, seeds):
            return found
        other = _fit_members(model, known, informative, prepared, seeds, None, callback)
        return other if other.result.regime == "identities" else found
    return _fit_members(model, known, informative, prepared, seeds, last, callback)


def _fit_members(
    model: GuidedClustering,
    known: Constraints,
    informative: Constraints,
    prepared: Prepared | None,
    seeds: list[int],
    last: FittedState | None,
    callback: Progress | None,
) -> RowFit:
    """Find groups by a consensus of members or by correlation clustering, by held-out answers."""
    answers = split_answers(without_many_repeats(informative), seeds[1])
    if prepared is None and not answers.folds:
        raise InvalidArgumentError(
            "GuidedClustering without X needs answers that put two rows together or "
            "apart; there is no answer of this kind with a positive weight"
        )
    spaces = None
    if last is None and is_default(model.pool):
        X = None if prepared is None else prepared.views.X
        spaces = spaces_worth_fitting(X, answers, seeds[3])
    count = _counter(model, known.n_samples, len(answers.folds), callback)
    members = partial(
        members_of,
        model.pool,
        n_samples=known.n_samples,
        seed=seeds[2],
        has_distances=model.metric == "precomputed",
    )
    chosen = choose_groups(
        model.n_clusters,
        members,
        prepared,
        spaces,
        answers,
        known,
        seeds[2:],
        Steps(count.step, model.n_jobs),
        None if last is None or isinstance(last.kept, Groups) else last.kept,
    )
    baseline = None if chosen.kept is None else chosen.kept.members.baseline
    if last is None and baseline is not None:
        warn_of_reversed_answers(baseline.labels, informative)
    fitted_to = informative if last is None else last.known
    state = FittedState(
        parameters_of(model), seeds, Tree(chosen.tree), prepared, None, chosen.kept, fitted_to
    )
    result = GuidedResult.of(
        chosen.result, known, chosen.regime, chosen.n_clusters_probabilities,
        is_settled=last is None,
    )  # fmt: skip
    return RowFit(result, state, count)


#: Held-out answers are predicted if their log-likelihood exceeds that of one probability for all
#: of them by this much.
LEAST_LEAD = 4.0
#: Largest number of refinements in a fit, for its progress.
N_STEPS = 130


def _are_about_pairs(informative: Constraints) -> bool:
    """Whether there are answers that put pairs together or apart, and most are about pairs."""
    return bool((informative.pair_answers >= 0).any()) and are_pairs_foremost(informative)


def _fit_partitions(
    model: GuidedClustering,
    known: Constraints,
    informative: Constraints,
    implied: Labels | None,
    prepared: Prepared,
    seeds: list[int],
    last: FittedState | None,
    callback: Progress | None,
) -> RowFit:
    """Fit one model of groups to features and answers; `last` is moved on if it is given."""
    report = ProgressReport(N_STEPS, verbose=model.verbose, what="partitions", callback=callback)
    count = Counter(N_STEPS, report)
    answers = without_many_repeats(informative)
    if last is not None and isinstance(last.kept, Groups):
        groups = continue_groups(prepared, answers, model.n_clusters, last.kept, model.n_jobs)
    else:
        number = model.n_clusters
        if number is not None:
            number = min(number, _n_different_rows(prepared, number))
        groups = fit_groups(prepared, answers, number, seeds[2], model.n_jobs, count.step)
        warn_of_reversed_answers(_without_answers(prepared, groups), informative)
        if implied is not None and model.n_clusters in (None, int(implied.max()) + 1):
            groups = replace(
                groups, labels=implied, probabilities=np.eye(implied.max() + 1)[implied]
            )
    rate, confusion, doubts = errors_of(groups, answers)
    if len(answers) != len(informative):
        doubts = answer_posterior(
            informative, groups.probabilities, confusion, inference="belief_propagation"
        )
    names = [
        f"partition {at + 1}, {one.n_clusters} groups" for at, one in enumerate(groups.partitions)
    ]
    is_open = model.n_clusters is None
    result = Result(
        labels=groups.labels,
        probabilities=groups.probabilities,
        error_rate=rate.rate,
        error_interval=rate.interval,
        confusion=confusion,
        answer_posterior=of_all_answers(known, doubts),
        scores={name: one.energy for name, one in zip(names, groups.partitions, strict=True)},
        weights=dict(zip(names, (groups.weights / groups.weights.max()).tolist(), strict=True)),
        n_violated=n_violated(groups.labels, informative),
    )
    tree = Tree(partial(tree_of_positions, groups.labels, prepared.views.X))
    state = FittedState(parameters_of(model), seeds, tree, prepared, None, groups, informative)
    numbers = groups.n_clusters_probabilities if is_open else {}
    alternatives = alternatives_of(groups, partial(n_violated, constraints=informative))
    found = GuidedResult.of(
        result,
        known,
        regime_of_groups(groups, prepared, rate.rate),
        numbers,
        alternatives if is_open else (),
        is_settled=last is None,
    )
    return RowFit(found, state, count)


def _is_explained(model: GuidedClustering, found: RowFit, seeds: list[int]) -> bool:
    """Whether a fit to two thirds of many answers about pairs predicts the others at all.

    Groups that are not the people's satisfy many "different" answers, also held-in ones, if people
    see hundreds of small groups and features tell nothing. Few answers, and a given number of
    groups, are not checked.
    """
    prepared, informative = found.state.prepared, found.state.known
    assert prepared is not None
    assert informative is not None
    if model.n_clusters is not None or not are_answers_dense(informative):
        return True
    if not are_groups_small(identities_of(None, informative, seeds[2])):
        return True
    fold = split_answers(without_many_repeats(informative), seeds[1]).folds[0]
    groups = fit_groups(prepared, fold.kept, None, seeds[2], model.n_jobs, no_step)
    held = fold.held.as_pairs()
    i, j = held.pairs.T
    together = np.einsum("mk,mk->m", groups.probabilities[i], groups.probabilities[j])
    error = float(np.mean([one.error.mean() for one in groups.partitions]))
    weight = np.where(held.is_dont_know, 0.0, held.pair_weights)
    share = (weight @ held.is_must_link + 0.5) / (weight.sum() + 1)
    same = np.column_stack([error + (1 - 2 * error) * together, np.full(len(i), share)])
    given = np.log(np.where(held.is_must_link[:, None], same, 1 - same))
    by_groups, by_share = weight @ given
    return bool(by_groups - by_share >= LEAST_LEAD)


def _n_different_rows(prepared: Prepared, n_clusters: int) -> int:
    """Count the different rows, up to `n_clusters`; warn if there are fewer."""
    views = prepared.views
    n_different = n_different_rows(views.X, n_clusters, views.distances)
    if n_different < n_clusters:
        warn(
            f"GuidedClustering(n_clusters={n_clusters}): there are only {n_different} different "
            "rows",
            FewerGroupsWarning,
        )
    return n_different


def _without_answers(prepared: Prepared, groups: Groups) -> Any:
    """Cut Ward's tree of the features into as many groups."""
    n = len(groups.labels)
    if n > MANY_ROWS:
        return groups.labels
    return fcluster(tree_of_features(prepared), int(groups.labels.max()) + 1, "maxclust")


def parameters_of(model: GuidedClustering) -> dict[str, Any]:
    """Return the parameters that `partial_fit` cannot change."""
    return {name: getattr(model, name) for name in PARAMETERS}


def _counter(
    model: GuidedClustering, n_samples: int, n_folds: int, callback: Progress | None
) -> Counter:
    """Return a counter of the fits that may be made."""
    members = members_of(model.pool, 1, n_samples, 0)
    n_steps = max_fits(members, n_folds, are_default=is_default(model.pool))
    n_steps += 0 if model.n_clusters else max_steps(n_samples, n_folds)
    report = ProgressReport(n_steps, verbose=model.verbose, what="clusterings", callback=callback)
    return Counter(n_steps, report)
