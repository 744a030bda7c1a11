"""Results of guided clustering as files, which `clew explain` reads.

A file is a NumPy archive without pickles, so that reading a file from somebody else is safe.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._text import group_title
from clew.answers import KINDS, ORIGINS
from clew.cli._groups import Groups
from clew.cluster.guided._explain import Explanation, GivenAnswer, explanation
from clew.constraints import Constraints
from clew.exceptions import FileFormatError
from clew.trust import AnswerPosterior

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


def saved_bytes(model: Any, ids: list[str], known: Constraints, groups: Groups) -> bytes:
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
    except KeyError as error:
        raise FileFormatError(_not_saved(path, "arrays of one are missing")) from error
    # The type of the error depends on where the file is damaged.
    except (zipfile.BadZipFile, zlib.error, ValueError, EOFError, TypeError) as error:
        why = "it holds Python objects" if "pickle" in str(error) else str(error)
        raise FileFormatError(_not_saved(path, why)) from error


def _not_saved(path: Path, why: str) -> str:
    return f"{path} is not a result of clew: {why}; make one with clew group … --save result.npz"


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
    """Return what decided: answers about both rows, chains of answers, and near rows.

    `skip` are positions of answers that are left out.
    """
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
    return [*answers, *_neighbors(found, name)]


def _answer(answer: GivenAnswer, name: Name) -> str:
    text = f"answer{f' of {answer.annotator}' if answer.annotator else ''}: "
    text += answer.answer.replace("_", " ")
    if len(answer.rows) > 2:
        text += f", about {', '.join(map(name, answer.rows))}"
    p_wrong = answer.p_wrong
    return text if np.isnan(p_wrong) else f"{text} (wrong with probability {p_wrong:.2f})"


def _neighbors(found: Explanation, name: Name) -> list[str]:
    sentences = []
    for row, near, own, other in zip(
        found.rows, found.neighbors, found.neighbors_in_own, found.neighbors_in_other, strict=True
    ):
        text = f"of the {len(near)} rows nearest to {name(row)}, {own} are in its group"
        sentences.append(text if found.are_together else f"{text}, {other} in the other group")
    return sentences
