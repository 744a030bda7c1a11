"""One fit of guided clustering to all rows: answers in folds, members, and the chosen groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from clew._parallel import Progress, ProgressReport
from clew.cluster.guided._answers.answers_alone import spaces_worth_fitting
from clew.cluster.guided._choice import choose_groups
from clew.cluster.guided._continued import FittedState, Tree
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._ensemble.folds import split_answers
from clew.cluster.guided._ensemble.progress import Counter, Steps
from clew.cluster.guided._ensemble.repeats import without_many_repeats
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._members.members import is_default, members_of
from clew.cluster.guided._numbers.search import max_steps
from clew.cluster.guided._result.guided_result import GuidedResult
from clew.cluster.guided._result.reversed_answers import warn_of_reversed_answers
from clew.cluster.guided._solution import max_fits
from clew.constraints import Constraints
from clew.exceptions import InvalidArgumentError

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
    """Fit the members to all rows and find the groups.

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
        The last fit, whose members are used as they are; None: members are fitted.
    callback : callable or None
        Called after each fit of a member.

    Returns
    -------
    RowFit

    Raises
    ------
    InvalidArgumentError
        If there are neither features nor informative answers.
    """
    informative = informative_answers(known)
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
        None if last is None else last.kept,
    )
    baseline = None if chosen.kept is None else chosen.kept.members.baseline
    if last is None and baseline is not None:
        warn_of_reversed_answers(baseline.labels, informative)
    fitted_to = informative if last is None else last.known
    state = FittedState(
        parameters_of(model), seeds, Tree(chosen.tree), prepared, None, chosen.kept, fitted_to
    )
    result = GuidedResult.of(chosen.result, known, chosen.regime, chosen.n_clusters_probabilities)
    return RowFit(result, state, count)


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
