"""The question on the screen, kept for the next call, which shows it while the model is prepared.

The file only saves time. It is ignored if it is missing, damaged, or about another state of the
answers; and a folder that cannot be written is no error.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

from clew.answers import Question, as_origin
from clew.cli.asking._job import AskJob
from clew.exceptions import ClewError
from clew.store import AnswerFile

__all__ = ["NextQuestion"]


class NextQuestion:
    """The question that follows the answers of a file.

    Parameters
    ----------
    job : AskJob
        The options that decide which question is asked.
    file : AnswerFile
        The answers.
    folder : Path
        Where the question is kept.
    """

    def __init__(self, job: AskJob, file: AnswerFile, folder: Path) -> None:
        self._file = file
        name = sha256(os.fsencode(os.path.realpath(file.path))).hexdigest()[:16]
        self._path = folder / f"next-{name}.json"
        items = os.path.realpath(job.items)
        self._options = [items, job.annotator, *job.kinds, job.n_groups, job.seed]

    def read(self) -> Question | None:
        """Return the question, if it was kept after the last answer of the file."""
        try:
            kept = json.loads(self._path.read_text(encoding="utf-8"))
            if kept["state"] != self._state():
                return None
            rows = tuple(self._file.ids.index(name) for name in kept["items"])
            return Question(kept["kind"], rows, origin=as_origin(kept["origin"]))
        except (OSError, ValueError, KeyError, TypeError, ClewError):
            return None

    def write(self, question: Question) -> None:
        """Keep a question, unless that is impossible."""
        names = [self._file.ids[row] for row in question.rows]
        kept = {"kind": question.kind, "items": names, "origin": question.origin}
        partial = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            partial.write_text(json.dumps(kept | {"state": self._state()}), encoding="utf-8")
            partial.replace(self._path)

    def _state(self) -> list[Any]:
        entries = self._file.entries
        return [*self._options, len(entries), entries[-1].id if entries else ""]
