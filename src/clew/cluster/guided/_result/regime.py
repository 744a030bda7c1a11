"""What decided the groups: features, answers, both, or correlation clustering."""

from __future__ import annotations

from typing import Literal, Self

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


def regime_of(
    *,
    has_features: bool,
    has_answers: bool,
    saw_answers: bool,
    share_of_answers: float,
    share_of_spaces: float,
) -> Regime:
    """Return what decided the groups.

    Parameters
    ----------
    has_features, has_answers : bool
        What was given.
    saw_answers : bool
        Whether the result follows the answers.
    share_of_answers : float
        Share of the members that follow answers alone in the weights of the first consensus.
    share_of_spaces : float
        Weight of the clusterings of graded answers in the result.

    Returns
    -------
    Regime
    """
    if not has_answers:
        return Regime("features", "there are no answers that imply a pair")
    if not has_features:
        return Regime("answers", "there are no features")
    if share_of_spaces > MOST:
        return Regime(
            "answers",
            "degrees of likeness explain held-out answers about three rows better than any groups "
            f"do; clusterings that follow such degrees have {share_of_spaces:.0%} of the weight",
        )
    if not saw_answers:
        return Regime(
            "features",
            "groups that follow the answers do not predict held-out answers clearly better than "
            "those without answers",
        )
    if share_of_answers > MOST:
        return Regime(
            "answers",
            "clusterings of answers alone predict held-out answers best: they have "
            f"{share_of_answers:.0%} of the members' weight",
        )
    return Regime(
        "both",
        "groups that follow features and answers predict held-out answers best; clusterings of "
        f"answers alone have {share_of_answers:.0%} of the members' weight",
    )
