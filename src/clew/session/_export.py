"""A result as plain data, and a session as bytes: what the log alone gives back too slowly.

Bytes are an uncompressed ``.npz`` archive without objects: `header`, JSON as bytes, and the arrays
of `Strategy.state`.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from clew.answers import Entry, Question
from clew.exceptions import InvalidDataError
from clew.session._groups import Change
from clew.session._quality import AnnotatorQuality, Check, Estimate, GroupQuality, Quality

if TYPE_CHECKING:
    from clew.session._items import Items
    from clew.session._loop import Loop
    from clew.session._remaining import Remaining
    from clew.session._result import Doubt, SessionResult

VERSION: Final = 3
#: Arrays of the strategy have names that begin with this.
STRATEGY: Final = "strategy."


def as_dict(result: SessionResult) -> dict[str, Any]:
    """Return a result for JSON; see `SessionResult.to_dict`."""
    of_label = dict(zip(result.labels_.tolist(), result.group_ids_.tolist(), strict=True))
    quality, remaining, regime = result.quality_, result.remaining_, result.regime_
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
        "quality": quality
        and {
            **_fields(quality),
            "groups": {str(of_label[at]): _fields(group) for at, group in quality.groups.items()},
        },
        "n_checks": result.n_checks_,
        "remaining": remaining and _fields(remaining),
        "stop": {"is_enough": result.stop_.is_enough, "reason": result.stop_.reason},
        "n_violated": _number(result.n_violated_),
        "alternatives": [
            {
                "n_clusters": int(other.n_clusters),
                "n_violated": int(other.n_violated),
                "score": float(other.score),
            }
            for other in result.alternatives_
        ],
        "n_clusters_probabilities": {
            str(number): float(p) for number, p in result.n_clusters_probabilities_.items()
        },
        "regime": regime and {"name": str(regime), "reason": regime.reason},
        "annotators": [_fields(person) for person in result.annotators_],
        "changes": [_of_change(change) for change in result.changes_],
        "n_answers": result.n_answers,
        "revision": result.revision,
    }


def _of_doubt(doubt: Doubt) -> dict[str, Any]:
    answer = doubt.answer
    return {
        "id": answer.id,
        "edit": answer.edit,
        "items": _plain(answer.question.ids or ()),
        "annotator": answer.annotator,
        "p_wrong": round(doubt.p_wrong, 4),
        "reason": doubt.reason,
        "chain": _plain(doubt.chain),
        "chain_answers": [each.id or each.edit for each in doubt.chain_answers],
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


def _fields(record: Quality | GroupQuality | AnnotatorQuality | Remaining) -> dict[str, Any]:
    """Return the fields of a named tuple; estimates are lists of their three numbers."""
    return {
        name: [round(float(number), 4) for number in value]
        if isinstance(value, Estimate)
        else _number(value)
        for name, value in record._asdict().items()
    }


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain(names: Iterable[Hashable]) -> list[Any]:
    """Return ids as JSON has them: numbers and texts as they are, others as text."""
    values = [_number(name) for name in names]
    return [
        value if isinstance(value, str | int | float | bool) else str(value) for value in values
    ]


def snapshot_of(
    loop: Loop, state: Mapping[str, NDArray[Any]], parameters: Mapping[str, Any]
) -> bytes:
    """Write a snapshot; the caller holds the locks."""
    asked, out = loop.queue.state()
    header = {
        "version": VERSION,
        "parameters": dict(parameters),
        "items": digest(map(str, loop.items.ids.names)),
        "features": _content_of(loop.items),
        "strategy": loop.strategy_name,
        "n_entries": len(loop.log.entries),
        "entries": digest(entry.id for entry in loop.log.entries),
        "asked": [_of_question(question) for question in asked],
        "out": [[name, _of_question(question)] for name, question in out],
        "checks": [list(check) for check in loop.checks.values()],
    }
    stream = io.BytesIO()
    arrays = {f"{STRATEGY}{name}": np.asarray(value) for name, value in state.items()}
    text = np.frombuffer(json.dumps(header, default=_plain_value).encode(), np.uint8)
    np.savez_compressed(stream, allow_pickle=False, header=text, **arrays)
    return stream.getvalue()


def read_snapshot(data: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the header of a snapshot and the state of its strategy."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            header = json.loads(archive["header"].tobytes())
            state = {
                name.removeprefix(STRATEGY): archive[name]
                for name in archive.files
                if name.startswith(STRATEGY)
            }
    except Exception as error:
        raise InvalidDataError(
            f"this is no snapshot of a session ({error}); apply the log to a new Session instead"
        ) from error
    if header.get("version") != VERSION:
        raise InvalidDataError(
            f"the snapshot has version {header.get('version')!r}, and this clew reads version "
            f"{VERSION}; apply the log to a new Session instead"
        )
    return header, state


def resume(loop: Loop, header: Mapping[str, Any], entries: Sequence[Entry]) -> None:
    """Continue a loop that has the items and the log of a snapshot."""
    n = header["n_entries"]
    fits = {
        "items": header["items"] == digest(map(str, loop.items.ids.names)),
        "features": header["features"] == _content_of(loop.items),
        "strategy": header["strategy"] == loop.strategy_name,
        "entries": n <= len(entries) and header["entries"] == digest(e.id for e in entries[:n]),
    }
    if not all(fits.values()):
        wrong = ", ".join(name for name, is_equal in fits.items() if not is_equal)
        raise InvalidDataError(
            f"the snapshot is of another session: its {wrong} differ; pass the items, features, "
            "strategy and log of the session that wrote it, or apply the log to a new Session"
        )
    loop.queue.set_state(
        [loop.named(_question(one)) for one in header["asked"]],
        [(name, loop.named(_question(one))) for name, one in header["out"]],
    )
    for pair, *others in header["checks"]:
        check = Check(tuple(pair), *others)
        loop.checks["pair", check.pair] = check


def _plain_value(value: Any) -> Any:
    """Return numbers of NumPy and sequences as JSON has them."""
    return value.item() if isinstance(value, np.generic) else list(value)


def _content_of(items: Items) -> str:
    """Return a checksum of features or distances."""
    content = np.ascontiguousarray(items.X) if items.is_known else np.empty(0)
    return hashlib.sha256(content.data).hexdigest()


def digest(names: Any) -> str:
    """Return a checksum of texts in their order."""
    sums = hashlib.sha256()
    for name in names:
        sums.update(name.encode() + b"\0")
    return sums.hexdigest()


def _of_question(question: Question) -> list[Any]:
    return [
        question.kind, list(question.rows), question.origin, list(question.parts), question.repeat,
        question.check,
    ]  # fmt: skip


def _question(record: Sequence[Any]) -> Question:
    kind, rows, origin, parts, repeat, check = record
    return Question(kind, tuple(rows), origin, None, tuple(parts), repeat, check)
