"""The records of a store: what its methods take and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from clew.answers import Entry, Kind, Question

#: What became of an entry: *stored*; *duplicate*, in the log already, or the same answer of the
#: same person to the same question; *superseded*, stored in place of that person's earlier answer;
#: *expired*, stored after its lease had run out; *conflict*, refused because the log has another
#: entry under its id.
Status = Literal["stored", "duplicate", "superseded", "expired", "conflict"]
AnnotatorKind = Literal["person", "rule", "model"]
#: Each role may do what those after it may: *owner* everything, *reviewer* edits, *annotator*
#: answers, *viewer* only looks.
Role = Literal["owner", "reviewer", "annotator", "viewer"]
TokenKind = Literal["invite", "session", "api"]
JobStatus = Literal["waiting", "running", "done", "failed"]
#: What may change, in `Store.changes`.
Topic = Literal[
    "items", "log", "pool", "annotators", "groups", "results", "jobs", "settings", "worker"
]

#: Seconds that a question is held for a person.
LEASE_SECONDS = 120.0
#: A lease is exchanged if its question was chosen more than this number of entries ago.
STALE_AFTER = 10
#: Seconds after its last heartbeat that a worker still holds the project.
WORKER_SECONDS = 10.0

#: Settings that stores know, with their defaults; others may be kept beside them.
SETTINGS: Mapping[str, Any] = {
    "name": "",
    "guideline": "",
    "overlap": 1,
    "kinds": ["pair"],
    "repeat_every": 20,
    "check_every": 20,
    "n_examples": 3,
    "n_clusters": None,
    "random_state": 0,
}


@dataclass(frozen=True, slots=True)
class Logged:
    """An entry of the log, with its number."""

    seq: int
    """Its number."""
    entry: Entry
    """An answer, an edit or a retraction."""
    is_standing: bool = True
    """Whether no later entry revokes it; always False for a retraction."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A question of the pool, handed out to nobody yet."""

    question: Question
    """What to ask."""
    is_check: bool = False
    """Whether it was drawn at random, to check the groups."""
    probability: float | None = None
    """Probability that the two are the same when it was chosen. Never shown to who answers."""
    score: float = 0.0
    """How much an answer helps; the larger, the sooner it is asked."""
    revision: int = 0
    """Last entry that was learned when it was chosen."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A question that one person holds."""

    token: str
    """Names the lease."""
    annotator: str
    """Who holds the question."""
    question: Question
    """What is asked."""
    revision: int
    """Last entry that was learned when the question was chosen."""
    expires: float
    """When it runs out."""
    state: Literal["held", "answered", "released", "exchanged", "wanted"] = "held"
    """What became of it; one that has run out stays "held", one of `ask_of` is "wanted"."""


class Served(NamedTuple):
    """What `Store.answer_and_lease` returns."""

    statuses: tuple[Status, ...]
    """One for each entry."""
    leases: tuple[Lease, ...]
    """All questions that the person holds, in the order in which they are to be asked."""


@dataclass(frozen=True, slots=True)
class Annotator:
    """Somebody, or something, that answers: a person, a rule or a model."""

    name: str
    """Names them in the log."""
    kind: AnnotatorKind = "person"
    """What answers."""
    role: Role = "annotator"
    """What they may do."""
    is_active: bool = True
    """False: they may not answer any more. Their answers stay."""
    code: str = ""
    """A participant's code, of studies."""
    note: str = ""
    """What others should know of them."""
    kinds: tuple[Kind, ...] | None = None
    """Kinds of questions they are asked; None: those of the settings."""


@dataclass(frozen=True, slots=True)
class Token:
    """A secret that somebody was given; only its hash is kept."""

    id: str
    """Names it in lists and for `revoke_token`; does not contain the secret."""
    kind: TokenKind
    """An invitation, a browser's session or a program."""
    annotator: str | None
    """Whose it is; None: of an invitation that anybody may take."""
    role: Role
    """What its holder may do."""
    created: float
    """When it was made."""
    expires: float | None
    """When it runs out; None: never."""
    is_revoked: bool
    """Whether it was revoked."""
    parent: str | None
    """Id of the invitation that a session came from: revoking that one ends the session."""
    scope: Mapping[str, Any] = field(default_factory=dict)
    """What else was kept with it, as JSON."""


@dataclass(frozen=True, slots=True)
class Group:
    """A group that lasts: its id is never used again."""

    id: int
    """Its lasting id."""
    name: str = ""
    """What people call it."""
    note: str = ""
    """What people say of it."""
    first_revision: int = 0
    """First result that has it."""
    last_revision: int = 0
    """Last result that has it."""
    came_from: tuple[int, ...] = ()
    """Groups that most of its items were in when it first appeared: it was split from them."""
    merged_into: int | None = None
    """Group that most of its items went to when it disappeared."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """A published result; `body` is `SessionResult.to_dict()`."""

    revision: int
    """`seq` of the last entry that it has learned."""
    at: float
    """When it was published."""
    body: Mapping[str, Any]
    """The result, as JSON."""


@dataclass(frozen=True, slots=True)
class Job:
    """Work that a client has asked of the worker."""

    id: int
    """Its number."""
    kind: str
    """What to do."""
    arguments: Mapping[str, Any]
    """Arguments, as JSON."""
    status: JobStatus
    """How far it is."""
    annotator: str
    """Who asked for it."""
    created: float
    """When it was asked for."""
    finished: float | None = None
    """When it ended; None: it has not."""
    result: Any = None
    """What came of it, as JSON."""
    error: str | None = None
    """What went wrong; None: nothing."""
    attempts: int = 0
    """How often it was started."""


@dataclass(frozen=True, slots=True)
class WorkerState:
    """What the worker says of itself."""

    name: str
    """How it is called."""
    heartbeat: float
    """When it last said that it is alive."""
    is_alive: bool
    """Whether it holds the project: a worker that dies is noticed after ten seconds."""
    state: str
    """"starting", "warming up", "learning", "ready", "failed"."""
    detail: str = ""
    """In words: "learning 120 answers", or what went wrong."""
    revision: int = 0
    """Last entry that it has learned."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers for `clew status` and the progress page."""

    n_items: int
    """Items, those set aside too."""
    n_set_aside: int
    """Items set aside."""
    n_entries: int
    """Entries of the log."""
    n_answers: int
    """Answers that stand."""
    n_edits: int
    """Edits, those revoked too."""
    last_seq: int
    """Number of the last entry; 0 if there is none."""
    by_annotator: Mapping[str, int]
    """Answers of each that stand."""
    by_value: Mapping[str, int]
    """Answers that stand, by kind and code: {"pair 1": 80, "pair 0": 120, …}."""


class ItemChanges(NamedTuple):
    """What `Store.add_items` did, in numbers of items."""

    added: int
    """Items that are new."""
    updated: int
    """Items that were there, and differed."""
    unchanged: int
    """Items that were there, and did not differ."""
