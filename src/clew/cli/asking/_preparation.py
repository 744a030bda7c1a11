"""The session of ``clew ask``: prepared in the background, from the items and the answers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from clew._warnings import silenced
from clew.answers import Answer, Question, as_origin
from clew.cli._features import Standardize, features_for
from clew.cli._inputs import Items
from clew.cli.asking._job import AskJob
from clew.constraints._log import LogEntry
from clew.exceptions import InvalidArgumentError, InvalidDataError
from clew.questions import Guided
from clew.session import Session

__all__ = ["in_background", "session_of", "tell_entries"]


def session_of(job: AskJob, items: Items, entries: Sequence[LogEntry]) -> Session:
    """Prepare a session with the answers of a file.

    Parameters
    ----------
    job : AskJob
        The options.
    items : Items
        The items.
    entries : sequence of LogEntry
        All entries of the file.

    Returns
    -------
    Session

    Raises
    ------
    ClewError
        If the items or an option are invalid.
    """
    if not items.is_distances and items.X.shape[1] == 0:
        raise InvalidDataError(f"{job.items}: no column can be used as a feature")
    with silenced():  # the user was asked about distances
        session = Session(
            **_session_data(items, job.standardizes),
            ids=items.ids,
            n_clusters=job.n_groups,
            kinds=job.kinds,
            random_state=job.seed,
            n_jobs=job.jobs,
        )
        tell_entries(session, items.ids, entries, entries)
    return session


def in_background(function: Callable[[], Session]) -> Future[Session]:
    """Call a function in a thread that does not keep the program from ending."""
    future: Future[Session] = Future()

    def work() -> None:
        try:
            future.set_result(function())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=work, daemon=True).start()
    return future


def tell_entries(
    session: Session, ids: Sequence[str], entries: Sequence[LogEntry], new: Sequence[LogEntry]
) -> None:
    """Pass new entries of a file of answers to a session.

    Parameters
    ----------
    session : Session
        About the items of the file.
    ids : sequence of str
        Ids of the items.
    entries : sequence of LogEntry
        All entries of the file.
    new : sequence of LogEntry
        Those that the session does not know.
    """
    row_of = {name: row for row, name in enumerate(ids)}
    by_id = {entry.id: entry for entry in entries}
    revoked = {entry.revokes for entry in entries}

    def question_of(entry: LogEntry) -> Question:
        rows = tuple(row_of[name] for name in entry.items)
        return Question(entry.kind, rows, origin=as_origin(entry.origin))

    for entry in new:
        old = by_id.get(entry.revokes or "")
        if old is not None and old.code is not None and old not in new:
            with suppress(InvalidArgumentError):  # unknown to the session
                session.retract(question_of(old), annotator=old.annotator)
    session.tell(
        [
            Answer(question_of(entry), entry.code, entry.annotator, origin=entry.origin)
            for entry in new
            if entry.code is not None and entry.id not in revoked
        ]
    )


def _session_data(items: Items, standardizes: Standardize) -> dict[str, Any]:
    """Return the features, and whether to standardize them, or the distances, for `Session`."""
    if items.is_distances:
        return {"distances": items.X}
    features = features_for(Guided(), items.X, standardizes, is_scaled=items.is_scaled)
    return {"X": features.X, "standardize": features.standardize}
