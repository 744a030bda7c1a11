"""What decided the groups: features, answers, both, or correlation clustering."""

from __future__ import annotations

from typing import Literal, Self

from clew.cluster.guided._solution import Solution

__all__ = ["Regime", "RegimeName", "regime_of"]

RegimeName = Literal["features", "answers", "both", "identities"]

#: Answers alone decided if clusterings that use no features have this share of the weight.
MOST = 0.5


class Regime(str):
    """What decided the groups, and why.

    A string: "features", "answers", "both" or "identities".

    Parameters
    ----------
    name : str
        One of these.
    reason : str
        Why, as a sentence without a period.

    Examples
    --------
    >>> from clew.cluster.guided import Regime
    >>> regime = Regime("features", "there are no answers")
    >>> regime == "features", regime.reason
    (True, 'there are no answers')
    """

    reason: str

    def __new__(cls, name: RegimeName, reason: str) -> Self:
        """Make a string with a reason."""
        regime = super().__new__(cls, name)
        regime.reason = reason
        return regime

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return the arguments that make an equal one, for pickling."""
        return str(self), self.reason


def regime_of(found: Solution, *, has_features: bool, has_answers: bool) -> Regime:
    """Say what decided the groups.

    Parameters
    ----------
    found : Solution
        The groups.
    has_features, has_answers : bool
        What was given.

    Returns
    -------
    Regime
    """
    if not has_answers:
        return Regime("features", "there are no answers that imply a pair")
    if not has_features:
        return Regime("answers", "there are no features")
    if found.share_of_spaces > MOST:
        return Regime(
            "answers",
            "distances in a space of the answers explain held-out answers about three rows better "
            f"than any groups do; groups in spaces have {found.share_of_spaces:.0%} of the weight",
        )
    if not found.last.saw_answers:
        return Regime(
            "features",
            "groups that follow the answers do not predict held-out answers clearly better than "
            "those without answers",
        )
    share = found.share_of_answers
    if share > MOST:
        return Regime(
            "answers",
            f"clusterings of answers alone predict held-out answers best: they have {share:.0%} of "
            "the members' weight",
        )
    return Regime(
        "both",
        "groups that follow features and answers predict held-out answers best; clusterings of "
        f"answers alone have {share:.0%} of the members' weight",
    )
