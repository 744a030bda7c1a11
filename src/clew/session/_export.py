"""A result as plain numbers, texts, lists and dicts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from clew.cluster.guided import Alternative
from clew.session._groups import Change
from clew.session._quality import AnnotatorQuality, Estimate, Quality

if TYPE_CHECKING:
    from clew.session._result import Doubt, SessionResult


def as_dict(result: SessionResult) -> dict[str, Any]:
    """Return a result for JSON; see `SessionResult.to_dict`."""
    of_label = dict(zip(result.labels_.tolist(), result.group_ids_.tolist(), strict=True))
    quality, remaining = result.quality_, result.remaining_
    numbers = result.n_clusters_probabilities_.items()
    return {
        "ids": _plain(result.ids),
        "labels": result.labels_.tolist(),
        "group_ids": result.group_ids_.tolist(),
        "next_group_id": result.next_group_id_,
        "confidence": np.round(result.confidence_, 4).tolist(),
        "exemplars": {
            str(of_label[at]): _plain(names)
            for at, names in result.exemplars_.items()
            if at in of_label
        },
        "doubtful": [_of_doubt(doubt) for doubt in result.doubtful_],
        "quality": None if quality is None else _of_quality(quality, of_label),
        "remaining": None if remaining is None else _numbers(remaining._asdict()),
        "stop": {"is_enough": result.stop_.is_enough, "reason": result.stop_.reason},
        "n_violated": _number(result.n_violated_),
        "alternatives": [_of_alternative(other) for other in result.alternatives_],
        "n_clusters_probabilities": {str(number): float(p) for number, p in numbers},
        "annotators": [_of_annotator(person) for person in result.annotators_],
        "changes": [_of_change(change) for change in result.changes_],
        "n_answers": result.n_answers,
        "revision": result.revision,
    }


def _of_doubt(doubt: Doubt) -> dict[str, Any]:
    return {
        "id": doubt.answer.id,
        "edit": doubt.answer.edit,
        "items": _plain(doubt.answer.question.ids or ()),
        "annotator": doubt.answer.annotator,
        "p_wrong": round(doubt.p_wrong, 4),
        "reason": doubt.reason,
        "chain": _plain(doubt.chain),
        "chain_answers": [answer.id or answer.edit for answer in doubt.chain_answers],
    }


def _of_alternative(other: Alternative) -> dict[str, Any]:
    return {
        "n_clusters": int(other.n_clusters),
        "n_violated": int(other.n_violated),
        "score": float(other.score),
    }


def _of_annotator(person: AnnotatorQuality) -> dict[str, Any]:
    return {
        "name": person.name,
        "n": person.n,
        "error": _of_estimate(person.error),
        "agreement_with_self": _of_estimate(person.agreement_with_self),
        "n_repeats": person.n_repeats,
    }


def _of_change(change: Change) -> dict[str, Any]:
    (name,) = _plain([change.id])
    answer = change.answer
    return {
        "id": name,
        "before": change.before,
        "after": change.after,
        "answer": None if answer is None else answer.id or answer.edit,
    }


def _of_quality(quality: Quality, of_label: dict[int, int]) -> dict[str, Any]:
    return {
        "jaccard": _of_estimate(quality.jaccard),
        "precision": _of_estimate(quality.precision),
        "recall": _of_estimate(quality.recall),
        "n_checks": quality.n_checks,
        "groups": {
            str(of_label[at]): {
                "precision": _of_estimate(group.precision),
                "recall": _of_estimate(group.recall),
            }
            for at, group in quality.groups.items()
        },
    }


def _of_estimate(estimate: Estimate | None) -> list[float] | None:
    return None if estimate is None else [round(float(value), 4) for value in estimate]


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(names: Iterable[Hashable]) -> list[Any]:
    """Return ids as JSON has them: numbers and texts as they are, others as text."""
    values = [_number(name) for name in names]
    return [
        value if isinstance(value, str | int | float | bool) else str(value) for value in values
    ]
