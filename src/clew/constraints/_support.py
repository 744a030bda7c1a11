"""Which answers a method honours; it refuses all others aloud."""

from __future__ import annotations

from typing import Any, NamedTuple

from clew.constraints._constraints import Constraints
from clew.exceptions import (
    InconsistentConstraintsError,
    InvalidArgumentError,
    InvalidConstraintsError,
    UnsupportedConstraintError,
)

__all__ = ["Support", "check_constraints", "of_some_weight", "refuse_contradictions"]


class Support(NamedTuple):
    """Kinds of answers that a method honours."""

    pairs: bool = False
    triplets: bool = False
    odd_one_out: bool = False
    dont_know: bool = False


PAIRS = Support(pairs=True, dont_know=True)


def check_constraints(
    method: object, constraints: Constraints, n_samples: int, support: Support = PAIRS
) -> None:
    """Check that constraints speak of this data, and of nothing that the method would drop.

    Parameters
    ----------
    method : estimator or function
        Whose name goes into the messages.
    constraints : Constraints
        The answers.
    n_samples : int
        Number of rows of the data.
    support : Support
        What the method honours.

    Raises
    ------
    InvalidArgumentError
        If it is no `Constraints`.
    InvalidConstraintsError
        If `n_samples` differs.
    UnsupportedConstraintError
        If there are answers of a kind that the method does not honour.
    """
    name = getattr(method, "__name__", type(method).__name__)
    if not isinstance(constraints, Constraints):
        raise InvalidArgumentError(
            f"{name} wants constraints as a clew.Constraints, got {type(constraints).__name__}; "
            "see Constraints.from_pairs and Constraints.read_csv"
        )
    if constraints.n_samples != n_samples:
        raise InvalidConstraintsError(
            f"the constraints are about {constraints.n_samples} rows, but X has {n_samples}; "
            "Constraints.subset carries them over to some of the rows"
        )
    present = {
        "pairs": bool((~constraints.is_dont_know).any()),
        "triplets": bool(len(constraints.triplets)),
        "odd_one_out": bool(len(constraints.odd_one_out)),
        "dont_know": bool(constraints.is_dont_know.any()),
    }
    for kind, is_present in present.items():
        if is_present and not getattr(support, kind):
            honoured = ", ".join(k for k, can in support._asdict().items() if can) or "none"
            raise UnsupportedConstraintError(
                f"{name} does not honour {kind} answers and will not drop them in silence; "
                f"it honours: {honoured}"
            )


def answers_for(estimator: Any, constraints: Constraints | None, n_samples: int) -> Constraints:
    """Check what `fit` got against what the estimator honours; None is no answers.

    Parameters
    ----------
    estimator : estimator
        It has `supports`.
    constraints : Constraints or None
        What `fit` got.
    n_samples : int
        Number of rows of the data.

    Returns
    -------
    Constraints

    Raises
    ------
    InvalidArgumentError, InvalidConstraintsError, UnsupportedConstraintError
        As `check_constraints` has it.
    """
    if constraints is None:
        return Constraints(n_samples)
    check_constraints(estimator, constraints, n_samples, estimator.supports)
    return constraints


def binding_answers(known: Constraints) -> Constraints:
    """Take the answers of any weight above 0, as hard methods do, and refuse contradictions.

    Parameters
    ----------
    known : Constraints
        The answers.

    Returns
    -------
    Constraints

    Raises
    ------
    InconsistentConstraintsError
        Naming the shortest chain of the first contradiction.
    """
    binding = known.select(pairs=known.pair_weights > 0)
    refuse_contradictions(binding)
    return binding


def refuse_contradictions(known: Constraints) -> None:
    """Refuse answers that cannot all hold, whatever their weights.

    Parameters
    ----------
    known : Constraints
        The answers that a method takes as binding.

    Raises
    ------
    InconsistentConstraintsError
        Naming the shortest chain of the first contradiction.
    """
    conflicts = known.conflicts()
    if conflicts:
        more = f", and {len(conflicts) - 1} more" if len(conflicts) > 1 else ""
        raise InconsistentConstraintsError(
            f"answers contradict each other: {conflicts[0]}{more}. Hard constraints cannot all "
            "hold: correct the answers, or use a soft mode or method, which weighs them",
            conflicts[0].chain,
        )


def of_some_weight(known: Constraints) -> Constraints:
    """Leave out the answers of weight 0, which say nothing."""
    pairs, triplets, odd_one_out = (table.weights > 0 for table in known.tables)
    return known.select(pairs=pairs, triplets=triplets, odd_one_out=odd_one_out)
