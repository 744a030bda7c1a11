"""The number of groups: the one that was given, or the chosen one."""

from __future__ import annotations

from collections.abc import Sequence

from clew._warnings import warn
from clew.cluster.guided._answers.spaces import Spaces
from clew.cluster.guided._ensemble.ensemble import Fold
from clew.cluster.guided._ensemble.progress import Step, no_step
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._numbers.choice import choose_n_clusters, number_in_spaces
from clew.cluster.guided._numbers.number import NumberOfGroups
from clew.cluster.guided._numbers.rows import n_different_rows
from clew.exceptions import FewerGroupsWarning, NoGroupsWarning

__all__ = ["number_of_groups"]


def number_of_groups(
    given: int | None,
    prepared: Prepared | None,
    spaces: Spaces | None,
    folds: Sequence[Fold],
    seed: int,
    step: Step = no_step,
) -> NumberOfGroups:
    """Check the given number of groups, or choose one.

    Parameters
    ----------
    given : int or None
        The parameter `n_clusters`.
    prepared : Prepared or None
        Features, if there are any.
    spaces : Spaces or None
        Spaces of the answers.
    folds : sequence of Fold
        See `choose_n_clusters`.
    seed : int
        See `choose_n_clusters`.
    step : callable
        See `choose_n_clusters`.

    Returns
    -------
    NumberOfGroups

    Warns
    -----
    FewerGroupsWarning
        If there are fewer distinct rows than groups wanted. Without answers, there are then as many
        groups as distinct rows.
    NoGroupsWarning
        If the number was chosen, and neither features nor answers show groups.
    """
    if prepared is None:
        assert spaces is not None
        return NumberOfGroups(given) if given else number_in_spaces(spaces, folds, step)
    views = prepared.views
    if given is None:
        chosen = choose_n_clusters(views, folds, seed, step, spaces)
        if chosen.certainty < 1:
            why = (
                "all rows are equal"
                if chosen.n_clusters == 1
                else f"features look like data without groups, and answers do not show any; the "
                f"{chosen.n_clusters} groups of the result have low probabilities"
            )
            warn(
                f"GuidedClustering(n_clusters=None) found no groups: {why}. Use other features, "
                "add answers, or give n_clusters",
                NoGroupsWarning,
            )
        return chosen
    n_different = n_different_rows(views.X, given, views.distances)
    if n_different == given:
        return NumberOfGroups(given)
    warn(
        f"GuidedClustering(n_clusters={given}): there are only {n_different} different rows",
        FewerGroupsWarning,
    )
    return NumberOfGroups(given if folds else n_different)
