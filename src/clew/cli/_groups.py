"""The groups of a fitted model with doubts and explanations, and all three as tables."""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._files import csv_text, group_title
from clew.answers import ANSWER_WORDS, KINDS, ORIGINS, Kind
from clew.cli._models import Model
from clew.cli._words import counted, wrong_with
from clew.cluster import GuidedClustering
from clew.cluster.guided._explain import Explanation, GivenAnswer, about_nearest, explanation
from clew.cluster.guided._result import UNSURE, largest_probabilities, say_range
from clew.constraints import Constraints
from clew.exceptions import FileFormatError
from clew.graphs import local_scale_graph, resolved_n_neighbors
from clew.metrics._scores import violations
from clew.questions._strategy import in_order_of_rows
from clew.trust import AnswerPosterior
from clew.trust.doubts import DOUBT

GROUP_COLUMNS = ("id", "group", "name", "confidence", "doubtful", "doubt_reason", "n_answers")
DOUBTFUL_COLUMNS = (
    "kind", "i", "j", "k", "id_i", "id_j", "id_k", "answer", "annotator", "weight", "p_wrong",
    "line",
)  # fmt: skip


class Doubted(NamedTuple):
    """An answer that is more likely wrong than right."""

    kind: Kind
    at: int
    """Its position among the answers of that kind."""
    p_wrong: float
    line: int
    """Line of the file that it is on; 0: it is not from a file."""
    file: str = ""
    """Name of the file, of a project's answers."""


class Groups(NamedTuple):
    """Group and doubts of each row; arrays of shape (n_samples,)."""

    label: NDArray[np.int64]
    """Group, numbered in the order of the groups' first rows."""
    confidence: NDArray[np.float64]
    """Probability of the row's group. If the method has no probabilities, the share of the row's
    affinity to its nearest rows that goes to rows of its own group."""
    is_between: NDArray[np.bool_]
    """Whether the confidence is below 0.5."""
    is_contradicted: NDArray[np.bool_]
    """Whether the groups violate an answer about the row that is not doubted."""
    n_answers: NDArray[np.int64]
    """Number of answers about the row, don't-knows included."""
    names: tuple[str, ...] = ()
    """Names of the first groups; further groups have none."""
    doubted: tuple[Doubted, ...] = ()
    """The answers that are more likely wrong than right, the most doubtful first."""
    ids: tuple[int, ...] = ()
    """Lasting ids of the groups of a project; rows in no group have a label beyond them."""

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each group."""
        sizes: list[int] = np.bincount(self.label).tolist()
        return sizes[: len(self.ids)] if self.ids else sizes

    @property
    def is_doubtful(self) -> NDArray[np.bool_]:
        """Whether there is a reason to look at the row again."""
        return self.is_between | self.is_contradicted

    def title(self, group: int) -> str:
        """Return what people call a group."""
        if self.ids and group >= len(self.ids):
            return group_title(None)
        number = self.ids[group] if self.ids else group
        return group_title(number, self.names[group] if group < len(self.names) else "")


def find_groups(
    model: Model,
    X: Any,
    answers: Constraints,
    *,
    is_distances: bool = False,
    names: Sequence[str] = (),
) -> Groups:
    """Return the groups of a fitted model, and which rows are doubtful."""
    label = in_order_of_rows(model.labels_)
    if isinstance(model, GuidedClustering):
        confidence = largest_probabilities(model.probabilities_)
    else:
        confidence = _confidence(affinity_graph(model, X, is_distances=is_distances), label)
    violated = violations(label, answers)
    for of_kind, doubt in zip(violated, _doubts(model), strict=False):
        of_kind[doubt > DOUBT] = False
    for of_kind, table in zip(violated, answers.tables, strict=True):
        of_kind[table.weights == 0] = False
    tables = (answers.pairs, answers.triplets, answers.odd_one_out)
    against = [rows[which] for rows, which in zip(tables, violated, strict=True)]
    doubted = [
        Doubted(table.kind, at, float(doubt[at]), int(table.lines[at]))
        for table, doubt in zip(answers.tables, _doubts(model), strict=False)
        for at in np.flatnonzero(doubt > DOUBT).tolist()
    ]
    doubted.sort(key=lambda one: -one.p_wrong)
    n = answers.n_samples
    is_against, n_answers = _times_named(against, n) > 0, _times_named(tables, n)
    is_between = confidence < UNSURE
    return Groups(
        label, confidence, is_between, is_against, n_answers, tuple(names), tuple(doubted)
    )


def _times_named(tables: Iterable[NDArray[np.int64]], n_rows: int) -> NDArray[np.int64]:
    """Count how often each row is named."""
    return np.bincount(np.concatenate([rows.ravel() for rows in tables]), minlength=n_rows)


def about_numbers(violated: Mapping[int, int], probabilities: Mapping[int, float]) -> str:
    """Say how many answers each number of groups goes against, the chosen first; "" if alone."""
    (n_groups, n), *others = violated.items()
    verb = "goes" if n_groups == 1 else "go"
    parts = [f"{counted(n_groups, 'group')} {verb} against {counted(n, 'answer')}"]
    parts += [f"{number:,} against {each:,}" for number, each in others]
    text = ", ".join(parts) if others else ""
    if not (unsure := say_range(probabilities)):
        return text
    doubt = f"it is not sure yet how many groups there are: {unsure}; more answers will tell"
    return f"{text}; {doubt}" if text else doubt


def about_numbers_of(summary: Mapping[str, Any]) -> str:
    """Compare the number of groups with its alternatives; empty if there are none."""
    if not summary["answers"]:
        return ""
    violated = {len(summary["sizes"]): summary["violated"]}
    violated |= {other["groups"]: other["violated"] for other in summary["alternatives"]}
    return about_numbers(violated, {int(n): p for n, p in summary["probabilities"].items()})


def groups_csv(ids: list[str], groups: Groups) -> str:
    """Format the groups and doubts of all rows as CSV."""
    reasons = np.char.add(
        np.where(groups.is_between, "between groups; ", ""),
        np.where(groups.is_contradicted, "goes against an answer; ", ""),
    )
    label = groups.label.tolist()
    columns: list[Iterable[object]] = [
        ids,
        label,
        map(groups.title, label),
        groups.confidence.tolist(),
        (reasons != "").tolist(),
        (reason.removesuffix("; ") for reason in reasons.tolist()),
        groups.n_answers.tolist(),
    ]
    return csv_text(GROUP_COLUMNS, zip(*columns, strict=True))


def doubtful_csv(
    id_of: Callable[[int], str], answers: Constraints, doubted: Iterable[Doubted]
) -> str:
    """Format the answers that look wrong as CSV, the most doubtful first; with files if several."""
    tables, doubted = {table.kind: table for table in answers.tables}, list(doubted)
    has_files = len({one.file for one in doubted}) > 1
    lines = []
    for kind, at, p_wrong, line, file in doubted:
        asked = tables[kind]
        words = {code: word for word, code in ANSWER_WORDS[kind].items()}
        rows = asked.rows[at].tolist()
        blank = [""] * (3 - len(rows))
        answer, who = words[int(asked.answers[at])], answers.annotators[asked.annotators[at]]
        weight = repr(float(asked.weights[at]))
        named = (*rows, *blank, *map(id_of, rows), *blank)
        place = (line or "", *([file] * has_files))
        lines.append((kind, *named, answer, who, weight, p_wrong, *place))
    return csv_text((*DOUBTFUL_COLUMNS, *(["file"] * has_files)), lines)


def _doubts(model: Model) -> tuple[NDArray[np.float64], ...]:
    """Return P(wrong) of the answers by kind; NaN, or no entries, if it was not estimated."""
    if isinstance(model, GuidedClustering):
        return tuple(model.answer_posterior_)
    similarity = getattr(model, "similarity_", None)
    return (getattr(similarity, "doubt_", np.empty(0)),)


def affinity_graph(
    model: Model, X: NDArray[np.float64], *, is_distances: bool = False
) -> csr_array:
    """Return the graph that was cut; without one, that of the nearest rows in the learned space."""
    clusterer = getattr(model, "clusterer_", model)
    if hasattr(clusterer, "graph_"):
        return csr_array(clusterer.graph_)
    space = getattr(getattr(model, "similarity_", None), "embedding_", X)
    n_neighbors = resolved_n_neighbors("auto", len(X))
    return local_scale_graph(space, n_neighbors, is_distance=is_distances)


def _confidence(graph: csr_array, label: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the share of each row's affinities within its group; 0 for a row without any."""
    entries = graph.tocoo()
    row, column = entries.coords
    is_own = label[row] == label[column]
    own = np.bincount(row[is_own], entries.data[is_own], minlength=len(label))
    whole = np.bincount(row, entries.data, minlength=len(label))
    return np.divide(own, whole, out=np.zeros(len(label)), where=whole > 0)


#: Format and version, the first entry of every file.
FORM = "clew result 1"
#: Names of the arrays of a sparse matrix.
SPARSE_PARTS = ("data", "indices", "indptr")
#: Names of the arrays of a kind of answers.
PARTS = ("rows", "answers", "annotators", "weights", "origins", "p_wrong", "alternatives")


class Saved(NamedTuple):
    """A result."""

    ids: list[str]
    probabilities: NDArray[np.float64] | csr_array
    """Probability of each group, (n_rows, n_groups); groups are numbered as in the table."""
    graph: csr_array
    """Affinities of near rows, (n_rows, n_rows)."""
    known: Constraints
    doubts: AnswerPosterior
    titles: list[str]
    """What people call each group."""

    def explain(self, i: int, j: int) -> Explanation:
        """Explain why two rows are together or apart."""
        return explanation((i, j), self.probabilities, self.known, self.doubts, self.graph)


def saved_bytes(
    model: GuidedClustering, ids: list[str], known: Constraints, groups: Groups
) -> bytes:
    """Return the file of a result."""
    labels = model.labels_
    used, first = np.unique(labels, return_index=True)
    n_groups = model.probabilities_.shape[1]
    order = [*used[np.argsort(first)], *np.setdiff1d(np.arange(n_groups), used)]
    titles = [groups.title(group) for group in groups.label[np.sort(first)].tolist()]
    graph = model._neighbors(np.arange(len(ids)))
    arrays: dict[str, Any] = {
        "form": _text(FORM),
        "ids": _text(ids),
        "annotators": _text(list(known.annotators)),
        "titles": _text(titles + [group_title(at) for at in range(len(titles), n_groups)]),
    }
    arrays |= _sparse_arrays("graph", graph)
    probabilities = model.probabilities_[:, order]
    if isinstance(probabilities, np.ndarray):
        arrays["probabilities"] = probabilities
    else:
        arrays |= _sparse_arrays("probabilities", probabilities)
        arrays["n_groups"] = np.array(n_groups)
    doubts = model.answer_posterior_
    for table, p_wrong, other in zip(known.tables, doubts, doubts.alternatives, strict=True):
        given = (table.rows, table.answers, table.annotators, table.weights, table.origins)
        columns = zip(PARTS, (*given, p_wrong, other), strict=True)
        arrays |= {f"{table.kind}_{part}": column for part, column in columns}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


def read_saved(path: Path) -> Saved:
    """Read the file of a result."""
    try:
        if not zipfile.is_zipfile(path):
            raise ValueError("it is no .npz file")
        with np.load(path, allow_pickle=False) as arrays:
            if _value(arrays["form"]) != FORM:
                raise ValueError("it has another version")
            return _saved(arrays)
    # The type of the error depends on where the file is damaged.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, TypeError, KeyError) as error:
        why = "it holds Python objects" if "pickle" in str(error) else str(error)
        why = "arrays of one are missing" if isinstance(error, KeyError) else why
        raise FileFormatError(
            f"{path} is not a result of clew: {why}; make one with clew group … --save result.npz"
        ) from error


def _saved(arrays: Any) -> Saved:
    ids = _value(arrays["ids"])
    n = len(ids)
    names = np.array([*_value(arrays["annotators"]), ""], dtype=object)
    given: dict[str, Any] = {}
    probabilities, alternatives = [], []
    for kind, plural in zip(KINDS, ("pairs", "triplets", "odd_one_out"), strict=True):
        rows, answers, annotators, weights, origins, p_wrong, other = (
            arrays[f"{kind}_{part}"] for part in PARTS
        )
        prefix = plural.removesuffix("s")
        given[plural] = np.column_stack([rows, answers])
        given[f"{prefix}_annotators"] = names[annotators].tolist()
        given[f"{prefix}_weights"] = weights
        given[f"{prefix}_origins"] = np.array(ORIGINS)[origins]
        probabilities.append(p_wrong)
        alternatives.append(other)
    known = Constraints(n, **given)
    first, second, third = probabilities
    if "n_groups" in arrays:
        probability = _sparse("probabilities", arrays, (n, int(arrays["n_groups"])))
    else:
        probability = arrays["probabilities"]
    return Saved(
        ids,
        probability,
        _sparse("graph", arrays, (n, n)),
        known,
        AnswerPosterior(first, second, third, known, tuple(alternatives)),
        _value(arrays["titles"]),
    )


def _sparse_arrays(name: str, matrix: csr_array) -> dict[str, Any]:
    """Return the arrays of a sparse matrix by name."""
    return {f"{name}_{part}": getattr(matrix, part) for part in SPARSE_PARTS}


def _sparse(name: str, arrays: Any, shape: tuple[int, int]) -> csr_array:
    return csr_array(tuple(arrays[f"{name}_{part}"] for part in SPARSE_PARTS), shape=shape)


def _text(value: Any) -> NDArray[np.uint8]:
    """Encode text or a list of texts as an array: NumPy pads each text to the longest."""
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def _value(array: NDArray[np.uint8]) -> Any:
    return json.loads(array.tobytes())


#: Returns the id of a row.
Name = Callable[[int], str]
#: Answers and rows that a sentence names; it counts the rest.
MOST_NAMED = 5


def explain_text(found: Explanation, name: Name, titles: Sequence[str]) -> str:
    """Return the whole explanation, a sentence a line."""
    i, j = found.rows
    if found.are_together:
        where = f"together, in {titles[found.groups[0]]}"
    else:
        one, other = (titles[group] for group in found.groups)
        where = f"apart: {name(i)} in {one}, {name(j)} in {other}"
    verdict = (
        f"{name(i)} and {name(j)} are {where}. "
        f"Probability of being in one group: {found.p_together:.2f}"
    )
    return "\n".join([verdict, *(f"- {one}" for one in reasons(found, name))])


def reasons(found: Explanation, name: Name, *, skip: Sequence[int] = ()) -> list[str]:
    """Return what decided (answers, chains, near rows), without the answers at positions `skip`."""
    answers = [_answer(one, name) for at, one in enumerate(found.answers) if at not in skip]
    if len(answers) > MOST_NAMED:
        answers = [*answers[:MOST_NAMED], f"and {len(answers) - MOST_NAMED} more answers"]
    if not answers:
        answers = ["no other answer about both" if skip else "no answer about both"]
    chain = found.chain
    if len(chain) > 2:
        marks = ["≠" if at == found.parted_at else "=" for at in range(len(chain) - 1)]
        steps = zip(marks, map(name, chain[1:]), strict=True)
        links = "".join(f" {mark} {each}" for mark, each in steps)
        answers.append(f"other answers imply {name(chain[0])}{links}")
    i, j = found.rows
    return [*answers, *about_nearest(found, (name(i), name(j)))]


def _answer(answer: GivenAnswer, name: Name) -> str:
    text = f"answer{f' of {answer.annotator}' if answer.annotator else ''}: "
    rows, word = list(map(name, answer.rows)), answer.answer
    at = ["first", "second", "third"].index(word) if word in ("first", "second", "third") else -1
    if answer.kind == "odd_one_out" and at >= 0:
        text += f"{rows.pop(at)} is the odd one out, beside {' and '.join(rows)}"
    elif answer.kind == "triplet" and at >= 0:
        text += f"{rows[0]} is more like {rows[1 + at]} than like {rows[2 - at]}"
    else:
        text += word.replace("_", " ")
        text += f", about {', '.join(rows)}" if len(rows) > 2 else ""
    p_wrong = answer.p_wrong
    return text if np.isnan(p_wrong) else f"{text} ({wrong_with(p_wrong)})"
