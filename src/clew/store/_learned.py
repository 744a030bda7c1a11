"""What the worker of a project learns, and how it is asked for more: one chapter of `Store`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from clew.store._records import Group, Job, JobStatus, StoredResult, Suggestion, WorkerState


class Learned(Protocol):
    """Pool, groups, results, jobs and the worker; see `Store`."""

    def replace_pool(self, suggestions: Iterable[Suggestion], *, worker: str | None = None) -> None:
        """Put other suggestions in place of those of the pool, in one transaction.

        Stay: questions that some but not all of the people wanted have, and checks that nobody has
        answered. These are first in the pool, and not counted among `suggestions`.

        Parameters
        ----------
        suggestions : iterable of Suggestion
            The questions, the best first.
        worker : str, default=None
            Token of `acquire_worker`; it must still hold the project. None: not checked.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """

    # Groups and results --------------------------------------------------------------------

    def groups(self, *, also_gone: bool = False) -> list[Group]:
        """Return the groups of the last result; with `also_gone` those of all results.

        Parameters
        ----------
        also_gone : bool, default=False
            Whether to return groups that the last result does not have, too.

        Returns
        -------
        list of Group
            In order of their ids.
        """

    def name_group(self, id: int, *, name: str | None = None, note: str | None = None) -> Group:
        """Give a group a name or a note; None leaves what it has.

        Parameters
        ----------
        id : int
            Id of the group.
        name : str, default=None
            Its new name.
        note : str, default=None
            Its new note.

        Returns
        -------
        Group
            The group as it is now.

        Raises
        ------
        InvalidParameterError
            If there is no such group.
        """

    def put_groups(self, groups: Iterable[Group]) -> None:
        """Put groups in place of those with the same ids; for imports.

        Parameters
        ----------
        groups : iterable of Group
            Groups, each id once.
        """

    def publish(self, revision: int, body: Mapping[str, Any], *, worker: str | None = None) -> None:
        """Keep a result as the newest, with its groups and what became of those before.

        `body` is `SessionResult.to_dict()`; of it the store reads `ids` and `group_ids`, the
        lasting id of the group of each item (-1: in no group). The ten newest results are kept.

        Parameters
        ----------
        revision : int
            `seq` of the last entry that the result has learned. Kept results with this or a larger
            revision are removed.
        body : mapping
            The result, as JSON.
        worker : str, default=None
            Token of `acquire_worker`; it must still hold the project. None: not checked.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """

    def result(self, revision: int | None = None) -> StoredResult | None:
        """Return a result, by default the newest; None if there is none.

        Parameters
        ----------
        revision : int, default=None
            Which result. None: the newest.

        Returns
        -------
        StoredResult or None
        """

    def result_revision(self) -> int | None:
        """Return the revision of the newest result, without reading it.

        Returns
        -------
        int or None
            None if there is no result.
        """

    def put_artifact(
        self, name: str, revision: int, content: bytes, *, worker: str | None = None
    ) -> None:
        """Keep a binary product of the worker ("map", "affinity"); it replaces the last one.

        Parameters
        ----------
        name : str
            What it is.
        revision : int
            `seq` of the last entry that it has learned.
        content : bytes
            The product.
        worker : str, default=None
            Token of `acquire_worker`; it must still hold the project. None: not checked.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """

    def artifact(self, name: str) -> tuple[int, bytes] | None:
        """Return the revision and the content of an artifact; None if it is absent or damaged.

        Parameters
        ----------
        name : str
            Name given to `put_artifact`.

        Returns
        -------
        (int, bytes) or None
        """

    # Jobs and the worker -------------------------------------------------------------------

    def add_job(self, kind: str, arguments: Mapping[str, Any], *, annotator: str = "") -> int:
        """Ask the worker for something; return the number of the job.

        Parameters
        ----------
        kind : str
            What to do.
        arguments : mapping
            Arguments of the job, as JSON.
        annotator : str, default=""
            Who asks.

        Returns
        -------
        int
        """

    def job(self, id: int) -> Job | None:
        """Return a job.

        Parameters
        ----------
        id : int
            Number of the job.

        Returns
        -------
        Job or None
            None if there is no such job.
        """

    def jobs(self, *, status: JobStatus | None = None, limit: int = 100) -> list[Job]:
        """Return jobs, the newest first.

        Parameters
        ----------
        status : {"waiting", "running", "done", "failed"}, default=None
            Jobs in this state. None: in any.
        limit : int, default=100
            Largest number of jobs.

        Returns
        -------
        list of Job
        """

    def take_job(self, worker: str) -> Job | None:
        """Start the oldest job that waits, or that another worker left unfinished.

        Parameters
        ----------
        worker : str
            Token of `acquire_worker`.

        Returns
        -------
        Job or None
            The job as it was before it was started; None if no job waits. A job that has taken down
            three workers is not started again: it has failed.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """

    def finish_job(
        self, id: int, *, worker: str, result: Any = None, error: str | None = None
    ) -> None:
        """End a job with a result (JSON) or an error.

        Parameters
        ----------
        id : int
            Number of the job.
        worker : str
            Token of `acquire_worker`.
        result : object, default=None
            What came of it, as JSON.
        error : str, default=None
            What went wrong. None: the job is done.

        Raises
        ------
        LeaseLostError
            If another worker has taken over. Nothing is written.
        """

    def acquire_worker(self, name: str) -> str | None:
        """Become the worker of the project; return a token, or None while another one is alive.

        Parameters
        ----------
        name : str
            How the worker is called in `worker` and in the app.

        Returns
        -------
        str or None
        """

    def heartbeat(self, worker: str, state: str, detail: str = "", revision: int = 0) -> None:
        """Say that the worker with this token is alive, and what it does.

        Parameters
        ----------
        worker : str
            Token of `acquire_worker`.
        state : str
            One of the states of `WorkerState`.
        detail : str, default=""
            The same in words.
        revision : int, default=0
            Last entry that it has learned.

        Raises
        ------
        LeaseLostError
            If another worker has taken over.
        """

    def release_worker(self, worker: str) -> None:
        """Give the project back.

        Parameters
        ----------
        worker : str
            Token of `acquire_worker`; without effect if another worker has taken over.
        """

    def worker(self) -> WorkerState | None:
        """Return what the worker says; None if there was none yet.

        Returns
        -------
        WorkerState or None
        """
