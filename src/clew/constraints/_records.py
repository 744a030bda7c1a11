"""One answer as seven named fields: the form shared by CSV, JSONL and data frames."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

import numpy as np

from clew.answers import ANSWER_WORDS, Kind
from clew.constraints._columns import AnswerColumns
from clew.constraints._validation import PARAMETER
from clew.exceptions import InvalidConstraintsError

__all__ = ["COLUMNS", "OPTIONAL", "REQUIRED", "RecordCollector", "check_columns", "records"]

COLUMNS: Final = ("kind", "i", "j", "k", "answer", "annotator", "weight")
REQUIRED: Final = ("kind", "i", "j", "answer")
OPTIONAL: Final = ("k", "annotator", "weight")

T = TypeVar("T")

_KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {"pair": "pair", "triplet": "triplet", "odd": "odd_one_out"}
)
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def records(
    constraints: AnswerColumns,
) -> Iterator[tuple[str, int, int, int | None, str, str, float]]:
    """Yield the fields of every answer in the order of `COLUMNS`: pairs, triplets, odd-one-out."""
    for kind_word, table in zip(_KINDS, constraints.tables, strict=True):
        words = {code: word for word, code in ANSWER_WORDS[table.kind].items()}
        for rows, answer, annotator, weight in zip(
            table.rows.tolist(),
            table.answers.tolist(),
            table.annotators.tolist(),
            table.weights.tolist(),
            strict=True,
        ):
            i, j, k = rows if len(rows) == 3 else (*rows, None)
            yield kind_word, i, j, k, words[answer], constraints.annotators[annotator], weight


def check_columns(names: Iterable[object]) -> None:
    """Refuse missing, repeated and unknown columns: dropping one would lose what people said."""
    given = list(names)
    missing = [name for name in REQUIRED if name not in given]
    unknown = [name for name in given if name not in COLUMNS]
    repeated = sorted({str(name) for name in given if given.count(name) > 1})
    for problem, columns in (("missing", missing), ("unknown", unknown), ("repeated", repeated)):
        if columns:
            raise InvalidConstraintsError(
                f"{problem} column {', '.join(map(repr, columns))}; needed are "
                f"{', '.join(REQUIRED)}, and allowed besides {', '.join(OPTIONAL)}"
            )


class RecordCollector:
    """Gathers records, checking each, until `Constraints` can be made of them.

    Parameters
    ----------
    n_samples : int
        Number of rows of the data.
    """

    def __init__(self, n_samples: int) -> None:
        self._n_samples = n_samples
        self._columns: dict[str, list[Any]] = {
            column: []
            for kind, parameter in PARAMETER.items()
            for column in (parameter, f"{kind}_weights", f"{kind}_annotators")
        }

    @property
    def columns(self) -> dict[str, Any]:
        """Arguments for the constructor of `Constraints`."""
        return self._columns

    def add(self, record: Mapping[str, object]) -> None:
        """Take one record in; fields may be text or values, and optional ones absent or None.

        Raises
        ------
        InvalidConstraintsError
            If a field does not hold what it should. The message does not say where.
        """
        kind = _word(record, "kind", _KINDS)
        rows = [self._row(record, name) for name in ("i", "j")]
        if kind != "pair":
            rows.append(self._row(record, "k"))
        elif not _is_empty(record.get("k")):
            raise InvalidConstraintsError(f"a pair has no k, but k is {record['k']!r}")
        if len(set(rows)) < len(rows):
            raise InvalidConstraintsError(
                f"an answer is about different rows, got {', '.join(map(str, rows))}"
            )
        answer = _word(record, "answer", ANSWER_WORDS[kind])
        weight, annotator = _weight(record.get("weight")), _annotator(record.get("annotator"))
        self._columns[PARAMETER[kind]].append((*rows, answer))
        self._columns[f"{kind}_weights"].append(weight)
        self._columns[f"{kind}_annotators"].append(annotator)

    def _row(self, record: Mapping[str, object], name: str) -> int:
        value = record.get(name)
        if _is_empty(value):
            raise InvalidConstraintsError(f"{name} is missing")
        row = _whole_number(value)
        if row is None:
            raise InvalidConstraintsError(f"{name} must be a row number, got {value!r}")
        if not 0 <= row < self._n_samples:
            raise InvalidConstraintsError(
                f"{name} is {row}, but rows run from 0 to {self._n_samples - 1} "
                f"(n_samples is {self._n_samples})"
            )
        return row


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _word(record: Mapping[str, object], name: str, words: Mapping[str, T]) -> T:
    value = record.get(name)
    word = value.strip() if isinstance(value, str) else value
    if not isinstance(word, str) or word not in words:
        raise InvalidConstraintsError(f"unknown {name} {value!r}; use one of {', '.join(words)}")
    return words[word]


def _whole_number(value: object) -> int | None:
    if isinstance(value, str):
        text = value.strip()
        return int(text.partition(".")[0]) if _WHOLE_NUMBER.fullmatch(text) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    number = float(value) if isinstance(value, numbers.Real) else math.nan
    return int(number) if math.isfinite(number) and number.is_integer() else None


def _weight(value: object) -> float:
    if _is_empty(value):
        return 1.0
    number = value
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value)
    # Compared before it is made a float: an integer may be too large for one. NaN fails too.
    if (
        isinstance(number, bool)
        or not isinstance(number, int | float | np.number)
        or not 0 <= number <= 1
    ):
        raise InvalidConstraintsError(f"weight must be a number in [0, 1], got {value!r}")
    return float(number)


def _annotator(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    number = _whole_number(value)
    if number is None:
        raise InvalidConstraintsError(f"annotator must be a name or an integer, got {value!r}")
    return str(number)
