"""Files that the next program reads: groups, examples, doubtful answers, and the whole log."""

from __future__ import annotations

import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from fastapi import APIRouter, Response

from clew.answers import Answer, entry_to_json
from clew.store.base import Store
from clew.web.accounts import StoreOf, Viewer
from clew.web.api import ResultsOf
from clew.web.problems import Problem, not_found
from clew.web.results import View

router = APIRouter(prefix="/api/v1")
What = Literal["groups", "exemplars", "doubtful", "answers", "answers_csv", "all"]
#: Spreadsheets take a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def safe_cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula: such a text gets an apostrophe."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _csv(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([safe_cell(cell) for cell in row] for row in rows)
    return text.getvalue().encode()


def groups_csv(store: Store, view: View) -> bytes:
    """Return one line an item: its group, how sure that is, and how often it was asked about."""
    names = {group.id: group.name for group in store.groups()}
    n_answers: dict[str, int] = {}
    for logged in store.log(only_standing=True):
        if isinstance(logged.entry, Answer):
            for one in logged.entry.question.ids or ():
                n_answers[str(one)] = n_answers.get(str(one), 0) + 1
    header = ("id", "group", "name", "confidence", "is_exemplar", "doubtful", "n_answers")
    rows = (
        (
            one,
            group,
            names.get(group, ""),
            round(view.confidence.get(one, 0.0), 4),
            int(view.line_of(one) == "knot"),
            int(view.line_of(one) == "doubt"),
            n_answers.get(one, 0),
        )
        for one, group in view.group_of.items()
    )
    return _csv(header, rows)


def exemplars_csv(store: Store, view: View) -> bytes:
    """Return the examples of each group, the most typical first."""
    names = {group.id: group.name for group in store.groups()}
    rows = (
        (group, names.get(group, ""), rank, one)
        for group, ids in view.exemplars.items()
        for rank, one in enumerate(ids, 1)
    )
    return _csv(("group", "name", "rank", "id"), rows)


def doubtful_csv(_: Store, view: View) -> bytes:
    """Return the answers that look wrong."""
    rows = (
        (
            one.get("entry", ""),
            one.get("p_wrong", ""),
            one.get("reason", ""),
            " ".join(map(str, one.get("chain", ()))),
        )
        for one in view.body.get("doubtful", ())
    )
    return _csv(("entry", "p_wrong", "reason", "chain"), rows)


def answers_jsonl(store: Store) -> bytes:
    """Return the log: all that was ever said, one entry a line."""
    return "".join(f"{line}\n" for line in _lines(store)).encode()


def _lines(store: Store) -> Iterator[str]:
    for logged in store.log():
        yield entry_to_json(logged.entry)


def answers_csv(store: Store) -> bytes:
    """Return the answers about two or three items that stand, as libraries read them."""
    from clew.answers import ANSWER_WORDS

    rows = []
    for logged in store.log(only_standing=True):
        entry = logged.entry
        if not isinstance(entry, Answer) or entry.question.kind not in ANSWER_WORDS:
            continue
        words = {code: word for word, code in ANSWER_WORDS[entry.question.kind].items()}
        ids = (*map(str, entry.question.ids or ()), "", "", "")[:3]
        if entry.value in words:
            rows.append(
                (entry.question.kind, *ids, words[entry.value], entry.annotator, entry.weight)
            )
    return _csv(("kind", "id_i", "id_j", "id_k", "answer", "annotator", "weight"), rows)


_OF_RESULT: dict[str, Callable[[Store, View], bytes]] = {
    "groups": groups_csv,
    "exemplars": exemplars_csv,
    "doubtful": doubtful_csv,
}


@router.get("/export/{what}", tags=["results"], response_class=Response)
def get_export(what: What, person: Viewer, store: StoreOf, results: ResultsOf) -> Response:
    """Return a file: groups.csv, exemplars.csv, doubtful.csv, answers.jsonl, answers.csv or all."""
    if what not in _OF_RESULT and not person.may("reviewer"):
        raise not_found()
    view = results.newest()
    if view is None and what in _OF_RESULT:
        raise Problem(404, "There is no result yet; the worker is still warming up.")
    if what == "answers":
        return _file("answers.jsonl", answers_jsonl(store), "application/x-ndjson")
    if what == "answers_csv":
        return _file("answers.csv", answers_csv(store), "text/csv")
    if what == "all":
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("answers.jsonl", answers_jsonl(store))
            archive.writestr("answers.csv", answers_csv(store))
            for name, make in _OF_RESULT.items() if view else ():
                archive.writestr(f"{name}.csv", make(store, view) if view else b"")
        return _file("clew.zip", content.getvalue(), "application/zip")
    assert view is not None
    return _file(f"{what}.csv", _OF_RESULT[what](store, view), "text/csv")


def _file(name: str, content: bytes, media_type: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)
