"""How long answers take, in seconds: assumed at first, then measured for each person."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Self

from clew.answers._records import Answer
from clew.answers._words import Kind
from clew.exceptions import InvalidParameterError

#: The parameters of each kind.
_PARAMETERS: Final[dict[Kind, tuple[str, ...]]] = {
    "pair": ("pair",),
    "triplet": ("triplet",),
    "odd_one_out": ("odd_one_out",),
    "which_of": ("which_of", "group"),
    "confirm": ("confirm", "member", "tick"),
}
#: Number of answers that the assumed pace of a person, and that of a kind, count for.
PERSON_STRENGTH, KIND_STRENGTH = 5.0, 10.0
#: A time this many times longer than expected is a pause; shorter ones are slips.
MOST_RATIO: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SecondsModel:
    """Seconds that answers take, by kind of question.

    Parameters
    ----------
    pair : float, default=2.0
        Seconds for a pair.
    triplet : float, default=3.0
        Seconds for a triplet.
    odd_one_out : float, default=3.0
        Seconds for an odd-one-out question.
    which_of : float, default=1.2
        Seconds for a which-of question, besides those for reading groups.
    group : float, default=0.4
        Seconds for each group that is read: those up to the chosen one, or all.
    confirm : float, default=1.5
        Seconds for a confirm question, besides those for its members.
    member : float, default=0.8
        Seconds for each member.
    tick : float, default=0.8
        Seconds for each stranger that is ticked.

    Raises
    ------
    InvalidParameterError
        If one is not a positive number.

    Notes
    -----
    The defaults are assumptions: `fitted` replaces them by what was measured. A person's times are
    the assumed ones times two factors, one for the person and one for the kind of question, both
    shrunk to 1: that of the person as by 5 answers, that of the kind as by 10. Times are
    compared on a logarithmic scale, and limited to 5 times what is expected and a fifth of it, so
    that pauses hardly count.

    Examples
    --------
    >>> from clew.answers import Answer, Question, SecondsModel
    >>> slow = [Answer(Question("pair", (0, at)), "same", ms=6000) for at in range(1, 100)]
    >>> model = SecondsModel().fitted(slow)
    >>> round(model.pair, 1), round(model.odd_one_out, 1)
    (6.0, 8.5)
    """

    pair: float = 2.0
    triplet: float = 3.0
    odd_one_out: float = 3.0
    which_of: float = 1.2
    group: float = 0.4
    confirm: float = 1.5
    member: float = 0.8
    tick: float = 0.8

    def __post_init__(self) -> None:
        for names in _PARAMETERS.values():
            for name in names:
                value = getattr(self, name)
                is_number = isinstance(value, int | float) and not isinstance(value, bool)
                if not is_number or not 0 < value < math.inf:
                    raise InvalidParameterError(
                        f"SecondsModel({name}={value!r}): {name} must be a positive number of "
                        "seconds"
                    )

    def of_kind(self, kind: Kind, n_read: float = 1.0, n_members: int = 0, n_ticks: float = 0.0
                ) -> float:  # fmt: skip
        """Return the seconds for a question, given what the person has to look at.

        Parameters
        ----------
        kind : {"pair", "triplet", "odd_one_out", "which_of", "confirm"}
            The kind of the question.
        n_read : float, default=1.0
            Of "which_of": number of groups that are read; it may be an expected number.
        n_members : int, default=0
            Of "confirm": number of members.
        n_ticks : float, default=0.0
            Of "confirm": number of ticks; it may be an expected number.

        Returns
        -------
        float
        """
        if kind == "which_of":
            return self.which_of + self.group * n_read
        if kind == "confirm":
            return self.confirm + self.member * n_members + self.tick * n_ticks
        return float(getattr(self, kind))

    def of_answer(self, answer: Answer) -> float:
        """Return the seconds that an answer is expected to take.

        Parameters
        ----------
        answer : Answer
            The answer. One that chooses none of the groups has read all of them.

        Returns
        -------
        float
        """
        question, value = answer.question, max(answer.value, 0)
        if question.kind == "which_of":
            n_read = value + 1 if answer.value >= 0 else len(question.parts) - 1
            return self.of_kind("which_of", n_read)
        n_members = sum(question.parts[1:])
        return self.of_kind(question.kind, n_members=n_members, n_ticks=value.bit_count())

    def fitted(self, answers: Iterable[Answer], annotator: str | None = None) -> Self:
        """Return the model of one person, from measured times.

        Parameters
        ----------
        answers : iterable of Answer
            Answers; those without `ms` are left out.
        annotator : str or None, default=None
            Whose answers. None: those of all.

        Returns
        -------
        SecondsModel
        """
        ratios: dict[Kind, list[float]] = {}
        for answer in answers:
            if answer.ms and annotator in (None, answer.annotator):
                ratio = answer.ms / 1000 / self.of_answer(answer)
                limited = min(max(ratio, 1 / MOST_RATIO), MOST_RATIO)
                ratios.setdefault(answer.question.kind, []).append(math.log(limited))
        total = sum(map(sum, ratios.values()))
        count = sum(map(len, ratios.values()))
        pace = total / (count + PERSON_STRENGTH)
        changed: dict[str, float] = {}
        for kind, names in _PARAMETERS.items():
            of_kind = ratios.get(kind, [])
            excess = sum(of_kind) - pace * len(of_kind)
            factor = math.exp(pace + excess / (len(of_kind) + KIND_STRENGTH))
            changed |= {name: factor * getattr(self, name) for name in names}
        return replace(self, **changed)

    def scaled(self, factor: float) -> Self:
        """Return the model of somebody who takes `factor` times as long.

        Parameters
        ----------
        factor : float
            A positive number.

        Returns
        -------
        SecondsModel
        """
        names = [name for names in _PARAMETERS.values() for name in names]
        return replace(self, **{name: factor * getattr(self, name) for name in names})
