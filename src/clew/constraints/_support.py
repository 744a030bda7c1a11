"""The kinds of answers that a method honors, and the refusal of all others."""

from __future__ import annotations

from typing import Any, NamedTuple

from clew.constraints.constraints import Constraints
from clew.exceptions import (
    InconsistentConstraintsError,
    InvalidArgumentError,
    InvalidConstraintsError,
    UnsupportedConstraintError,
)


class Support(NamedTuple):
    """Kinds of answers that a method honors.

    Parameters
    ----------
    pairs : bool, default=False
        Must-links and cannot-links.
    triplets : bool, default=False
        Triplets, whatever the answer.
    odd_one_out : bool, default=False
        Odd-one-out answers, "all alike" and don't-know among them.
    dont_know : bool, default=False
        Don't-knows about pairs; most methods accept and ignore them.
    """

    pairs: bool = False
    triplets: bool = False
    odd_one_out: bool = False
    dont_know: bool = False


PAIRS = Support(pairs=True, dont_know=True)


def check_constraints(
    method: object, constraints: Constraints, n_samples: int, support: Support = PAIRS
) -> None:
    """Check that answers are about the given data, and of kinds that a method honors.

    Parameters
    ----------
    method : estimator or function
        The method, whose name is used in messages.
    constraints : Constraints
        The answers.
    n_samples : int
        Number of rows of the data.
    support : Support, default=Support(pairs=True, dont_know=True)
        Kinds of answers that the method honors.

    Raises
    ------
    InvalidArgumentError
        If `constraints` is not a `Constraints`.
    InvalidConstraintsError
        If the constraints are about another number of rows.
    UnsupportedConstraintError
        If there are answers of a kind that the method does not honor.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.constraints import Support, check_constraints
    >>> def my_method(X, constraints):
    ...     check_constraints(my_method, constraints, len(X), Support(pairs=True))
    >>> my_method([[0.0], [1.0]], Constraints.from_pairs(must_link=[(0, 1)], n_samples=2))
    """
    name = getattr(method, "__name__", type(method).__name__)
    if not isinstance(constraints, Constraints):
        raise InvalidArgumentError(
            f"{name}: constraints must be a clew.Constraints, got {type(constraints).__name__}; "
            "make one by Constraints.from_pairs or Constraints.read_csv"
        )
    if constraints.n_samples != n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but X has {n_samples}; "
            "if X holds some of these rows, use Constraints.subset"
        )
    for kind in Support._fields:
        if kind in constraints._kinds_present and not getattr(support, kind):
            honored = ", ".join(k for k, can in support._asdict().items() if can) or "none"
            raise UnsupportedConstraintError(
                f"{name} does not honor {kind} answers; it honors: {honored}. Remove the others "
                "by Constraints.select, or use a method that honors them"
            )


def refuse_another_order(X: Any, constraints: object) -> None:
    """Check that the index of a data frame, or series, does not reorder the ids of the answers."""
    ids = constraints.ids if isinstance(constraints, Constraints) else None
    if ids is None or not hasattr(X, "iloc"):
        return
    index = X.index.tolist()
    # After `reset_index`, the index only counts the rows.
    if index == list(ids) or index == list(range(len(index))) or set(index) != set(ids):
        return
    row = next(row for row, names in enumerate(zip(index, ids, strict=False)) if len({*names}) > 1)
    raise InvalidConstraintsError(
        f"row {row} of X is {index[row]!r} by its index, but {ids[row]!r} by the ids of the "
        "constraints; give X.loc[list(constraints.ids)], or make the constraints with ids=X.index"
    )


def answers_for(estimator: Any, constraints: Constraints | None, n_samples: int) -> Constraints:
    """Check the constraints given to `fit`, and replace None by empty constraints."""
    if constraints is None:
        return Constraints(n_samples)
    check_constraints(estimator, constraints, n_samples, estimator.supports)
    return constraints


def binding_answers(known: Constraints) -> Constraints:
    """Select the answers of positive weight, all of which a hard method honors."""
    binding = known.select(pairs=known.pair_weights > 0)
    refuse_contradictions(binding)
    return binding


def refuse_contradictions(known: Constraints) -> None:
    """Refuse answers that contradict each other, whatever their weights."""
    conflicts = known.conflicts()
    if conflicts:
        more = f", and {len(conflicts) - 1} more conflicts" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Hard constraints cannot all "
            "hold: correct the answers, or use a soft mode or a method with soft constraints",
            conflicts[0].chain,
        )


def of_some_weight(known: Constraints) -> Constraints:
    """Select the answers of positive weight."""
    pairs, triplets, odd_one_out = (table.weights > 0 for table in known.tables)
    return known.select(pairs=pairs, triplets=triplets, odd_one_out=odd_one_out)
