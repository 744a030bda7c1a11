"""What a project keeps, and what every store promises.

A project has items, a log of everything that people said about them, and what a worker has learned
from it. Web processes, workers, terminals and scripts share it: they talk through the store alone.

Promises
--------
Durable
    A method that writes returns when its transaction is on disk. If it raises, nothing of it was
    written; a connection that breaks during a commit is the one exception, so clients send again.
Once
    An entry has an id, made where the answer is given. The same entry appended again is a
    duplicate and has no effect, so whoever is unsure sends again. Another entry under an id that
    is in the log is a conflict, and is refused.
Append only
    Entries are never changed or removed. Whoever changes their mind appends an entry that revokes
    the first one. A person's new answer to the same question takes the place of the old one.
In order
    Entries have numbers, `seq`, that grow in the order in which they become visible: who has read
    up to `seq` n never misses an entry with a smaller number. Numbers may be left out.
One writer at a time
    Writes of all processes follow each other, so each sees everything written before it. Reads
    never wait for writes. One client that asks again and again is served as well as many.
Leases
    A question is handed to a person under a lease of two minutes. A question has as many people as
    the setting `overlap` says: those who hold it and those who have answered it. A lease that runs
    out frees the question; a late answer is still taken. Leases survive a restart, and a clock that
    jumps: one that would run for more than two minutes has run out.
One worker
    The worker holds the project under a lease with a heartbeat. What it writes (pool, results,
    artifacts, jobs) is refused with `LeaseLostError` when another worker has taken over.
Refused with an error
    A full disk, a read-only file, a server that went away, a schema of a newer clew: `StoreError`,
    with what to do. Names of unknown items: `InvalidConstraintsError`, and nothing is appended.

Stores hold texts: ids of items are strings. Times are seconds since 1970 in UTC; entries keep the
time in their own form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

from clew.answers import Answer, Entry, Kind, Question
from clew.items import Item
from clew.store._learned import Learned
from clew.store._records import (
    LEASE_SECONDS as LEASE_SECONDS,
    SETTINGS as SETTINGS,
    WORKER_SECONDS as WORKER_SECONDS,
    Annotator as Annotator,
    Counts as Counts,
    Group as Group,
    ItemChanges as ItemChanges,
    Job as Job,
    Lease as Lease,
    Logged as Logged,
    Role as Role,
    Served as Served,
    Status as Status,
    StoredResult as StoredResult,
    Suggestion as Suggestion,
    Token as Token,
    TokenKind as TokenKind,
    Topic as Topic,
    WorkerState as WorkerState,
)


class Store(Learned, Protocol):
    """All that a project keeps; the module says what every store promises.

    `open_store` opens one. Methods may be called from several threads, and on one project from
    several processes. Use it as a context manager, or call `close`.
    """

    url: str
    """Where it is, as `open_store` takes it, without a password."""

    # Items ---------------------------------------------------------------------------------

    def add_items(self, items: Iterable[Item]) -> ItemChanges:
        """Add items at the end; those with an id that is there are updated where they differ.

        The same items again change nothing. What was set aside stays so.

        Parameters
        ----------
        items : iterable of Item
            Items, each id once.

        Returns
        -------
        ItemChanges
            Numbers of items added, updated and unchanged.
        """

    def items(self, *, after: int = -1, limit: int | None = None) -> list[Item]:
        """Return items in order of their rows, those after the row `after`.

        Parameters
        ----------
        after : int, default=-1
            Row; the items in the rows that follow are returned.
        limit : int, default=None
            Largest number of items. None: all.

        Returns
        -------
        list of Item
        """

    def items_by_id(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return the items with these ids that exist.

        Parameters
        ----------
        ids : iterable of str
            Ids; unknown ones are left out.

        Returns
        -------
        dict of str to Item
        """

    def item_ids(self) -> list[str]:
        """Return all ids, in order of the rows: row i of the model is item i, for good.

        Returns
        -------
        list of str
        """

    # Log -----------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> tuple[Status, ...]:
        """Append entries in one transaction, and say what became of each.

        Entries without id or time get them. Annotators that are new are added as persons, or as
        rules if the origin of their answers says so. An `Edit` of kind "set_aside" sets items aside
        until it is revoked.

        Parameters
        ----------
        entries : sequence of Entry
            Answers, edits and retractions, in order.

        Returns
        -------
        tuple of str
            One status for each entry: "stored", "duplicate" or "conflict".

        Raises
        ------
        InvalidConstraintsError
            If an entry names an unknown item or revokes an unknown entry. Nothing is appended.
        """

    def log(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        annotator: str | None = None,
        items: Iterable[str] | None = None,
        only_standing: bool = False,
        newest_first: bool = False,
        limit: int | None = None,
    ) -> list[Logged]:
        """Return entries with `after` < seq < `before`, of one annotator, or about some items.

        Parameters
        ----------
        after : int, default=0
            Entries with larger numbers.
        before : int, default=None
            Entries with smaller numbers. None: to the end.
        annotator : str, default=None
            Whose entries. None: those of all.
        items : iterable of str, default=None
            Ids; entries about at least one of these items. None: about any.
        only_standing : bool, default=False
            Whether to leave out retractions, and entries that a later one revokes.
        newest_first : bool, default=False
            Whether the last entry comes first.
        limit : int, default=None
            Largest number of entries. None: all.

        Returns
        -------
        list of Logged
        """

    def entries_by_id(self, ids: Iterable[str]) -> dict[str, Logged]:
        """Return the entries with these ids that the log has.

        Parameters
        ----------
        ids : iterable of str
            Ids; unknown ones are left out.

        Returns
        -------
        dict of str to Logged
        """

    def entry(self, id: str) -> Logged | None:
        """Return the entry with an id; None if the log has no such entry.

        Parameters
        ----------
        id : str
            Id of the entry.

        Returns
        -------
        Logged or None
        """
        return self.entries_by_id([id]).get(id)

    def last_seq(self) -> int:
        """Return the number of the last entry; 0 if there is none.

        Returns
        -------
        int
        """

    def undo(self, annotator: str, *, source: str = "") -> Answer | None:
        """Revoke the last answer of a person that stands, and lease its question to them again.

        Return the answer; None if they have none. Its question is the first of their leases.

        Parameters
        ----------
        annotator : str
            Whose answer.
        source : str, default=""
            Where the retraction comes from, which is kept with it.

        Returns
        -------
        Answer or None
        """

    def counts(self) -> Counts:
        """Count items and answers.

        Returns
        -------
        Counts
        """

    # Questions -----------------------------------------------------------------------------

    def lease(
        self,
        annotator: str,
        n: int = 4,
        *,
        kinds: Sequence[Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> tuple[Lease, ...]:
        """Top a person's questions up to `n`; `answer_and_lease` without answers.

        Parameters
        ----------
        annotator : str
            Who is to answer.
        n : int, default=4
            Number of questions to hold after it.
        kinds : sequence of str, default=None
            Kinds of questions wanted, as in `answer_and_lease`.
        keep : sequence of str, default=()
            Tokens of leases that are not exchanged, as in `answer_and_lease`.

        Returns
        -------
        tuple of Lease
            All questions that the person holds, in the order in which they are to be asked.
        """

    def answer_and_lease(
        self,
        annotator: str,
        entries: Sequence[Entry],
        n_held: int = 4,
        kinds: Sequence[Kind] | None = None,
        keep: Sequence[str] = (),
    ) -> Served:
        """Append a person's entries and top their questions up to `n_held`, in one transaction.

        Parameters
        ----------
        annotator : str
            Who answers; entries of others are refused.
        entries : sequence of Entry
            As in `append`.
        n_held : int, default=4
            Number of questions to hold after it; 0 takes no more.
        kinds : sequence of str, default=None
            Kinds of questions wanted. None: those of the annotator, or else of the settings.
        keep : sequence of str, default=()
            Tokens of leases that are on the screen: these are not exchanged; of none named, the one
            that is asked first. Others are, if their question was chosen more than ten entries ago
            and the pool has a newer one.

        Returns
        -------
        Served
            Fewer leases than `n_held` if there is nothing more to ask this person.
        """

    def find_lease(self, token: str) -> Lease | None:
        """Return a lease by its token, also one that has run out or was given back (for a week).

        Parameters
        ----------
        token : str
            Token of the lease.

        Returns
        -------
        Lease or None
            None if there is no such lease.
        """

    def release(self, annotator: str, tokens: Sequence[str] | None = None) -> int:
        """Give questions of a person back, all or some; return how many were held.

        Parameters
        ----------
        annotator : str
            Whose questions.
        tokens : sequence of str, default=None
            Tokens of the leases to give back. None: all of this person.

        Returns
        -------
        int
        """

    def ask_of(self, annotator: str, question: Question) -> bool:
        """Have a person asked a question before others, whoever has answered it.

        It is handed to them when they ask next, and again until they have answered, for a week.

        Parameters
        ----------
        annotator : str
            Who is to answer.
        question : Question
            The question, with ids.

        Returns
        -------
        bool
            False if they have answered it, or are to be asked already.

        Raises
        ------
        InvalidParameterError
            If there is no such annotator.
        """

    def wanted(self) -> list[Lease]:
        """Return the questions of `ask_of` that are not answered yet.

        Returns
        -------
        list of Lease
        """

    def leases(self) -> list[Lease]:
        """Return all questions that somebody holds now.

        Returns
        -------
        list of Lease
        """

    def pool(self) -> list[Suggestion]:
        """Return the pool, the best first: questions that somebody may still be asked.

        Returns
        -------
        list of Suggestion
        """

    # Annotators ----------------------------------------------------------------------------

    def put_annotator(self, annotator: Annotator) -> None:
        """Add an annotator, or change the one with this name.

        Parameters
        ----------
        annotator : Annotator
            All of it replaces what was kept under its name.

        Raises
        ------
        InvalidParameterError
            If the name is empty.
        """

    def annotators(self) -> list[Annotator]:
        """Return all annotators, in the order in which they came.

        Returns
        -------
        list of Annotator
        """

    def annotator(self, name: str) -> Annotator | None:
        """Return the annotator with a name.

        Parameters
        ----------
        name : str
            Name of the annotator.

        Returns
        -------
        Annotator or None
            None if there is none of this name.
        """

    def make_token(
        self,
        kind: TokenKind,
        *,
        annotator: str | None = None,
        role: Role = "annotator",
        seconds: float | None = None,
        parent: str | None = None,
        scope: Mapping[str, Any] | None = None,
    ) -> str:
        """Make a secret of 128 bits for an invitation, a browser's session or a program.

        It is returned this once: the store keeps its SHA-256.

        Parameters
        ----------
        kind : {"invite", "session", "api"}
            What it is for.
        annotator : str, default=None
            Whose it is. None: of an invitation that anybody may take.
        role : {"owner", "reviewer", "annotator", "viewer"}, default="annotator"
            What its holder may do.
        seconds : float, default=None
            Seconds until it runs out. None: never.
        parent : str, default=None
            Id of the invitation that a session comes from.
        scope : mapping, default=None
            What else is kept with it, as JSON. None: nothing.

        Returns
        -------
        str
            The secret.
        """

    def check_token(self, secret: str, kind: TokenKind) -> Token | None:
        """Return the token of a secret; None if there is none, it has run out or was revoked.

        Also None if its parent was revoked, or its annotator is no longer active.

        Parameters
        ----------
        secret : str
            What `make_token` returned.
        kind : {"invite", "session", "api"}
            Kind of token that is asked for; a secret of another kind is not taken.

        Returns
        -------
        Token or None
        """

    def tokens(self, annotator: str | None = None) -> list[Token]:
        """Return the tokens, of one annotator or all, the newest first.

        Parameters
        ----------
        annotator : str, default=None
            Whose tokens. None: those of all.

        Returns
        -------
        list of Token
            Those that have run out or were revoked too.
        """

    def revoke_token(self, id: str) -> bool:
        """Revoke a token and those that came from it; return whether there was one.

        Parameters
        ----------
        id : str
            `Token.id`.

        Returns
        -------
        bool
        """

    # Settings and changes ------------------------------------------------------------------

    def settings(self) -> dict[str, Any]:
        """Return all settings, with the defaults of `SETTINGS`.

        Returns
        -------
        dict of str to object
        """

    def set_settings(self, settings: Mapping[str, Any]) -> None:
        """Change some settings; values are JSON.

        Parameters
        ----------
        settings : mapping
            Values by name; settings that are not named stay as they are.

        Raises
        ------
        InvalidParameterError
            If a value is not allowed: "overlap" is 1 or more, "repeat_every" 0 or more, and
            "kinds" a list that is not empty. Nothing is changed.
        """

    def changes(self) -> dict[Topic, int]:
        """Return for each topic a number that grows with each change of it.

        Returns
        -------
        dict of str to int
        """

    def wait(
        self, seen: Mapping[Topic, int], *, timeout: float, topics: Sequence[Topic] = ()
    ) -> dict[Topic, int]:
        """Return `changes` as soon as one of `topics` (all if empty) is not as in `seen`.

        After `timeout` seconds they are returned as they are.

        Parameters
        ----------
        seen : mapping of str to int
            What `changes` or `wait` returned before.
        timeout : float
            Longest wait, in seconds.
        topics : sequence of str, default=()
            Topics to look at. Empty: all.

        Returns
        -------
        dict of str to int
        """

    # Whole stores --------------------------------------------------------------------------

    def copy_to(self, url: str) -> None:
        """Copy everything, tokens and leases too, to an empty store; for backups and moves.

        Parameters
        ----------
        url : str
            Path or address of the other store, as `open_store` takes it; made if it is not there.

        Raises
        ------
        StoreError
            If the other store is not empty, or cannot be written.
        """

    def close(self) -> None:
        """Write what waits, and close all connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
