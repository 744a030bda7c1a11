"""Session: ask and result; `_entries` has what it is told. `clew ask` and `simulate` use it."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._validation import Allowed, RandomState, derived_seeds, is_dask
from clew.answers import Entry, Kind, Question
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.oracles import Oracle
from clew.questions import Strategy
from clew.session._entries import LoggedEntries
from clew.session._export import read_snapshot, resume, snapshot_of
from clew.session._items import (
    as_standardize,
    check_number,
    kinds_of,
    positive,
    session_items,
    started,
    with_rows,
)
from clew.session._log import Queue
from clew.session._loop import Loop, Suggestion
from clew.session._open import StoreSession, open_session
from clew.session._result import SessionResult, result_of


class Session(LoggedEntries):
    """Asks people questions about items, takes their answers, and groups the items.

    `ask` returns the questions whose answers help most, `tell` takes the answers, and `result`
    returns the groups, an estimate of their quality, the answers that look wrong and the number of
    questions that are left. People may answer in any order, several at once, and take answers back.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Dask array, default=None
        Features, (n_items, n_features), dense or sparse. A data frame may hold categories, dates
        and texts, and missing values. Of a Dask array, 20,000 random rows are the items, named by
        their numbers, and `fit_all` groups all rows.
    distances : array-like or data frame, default=None
        In place of features: distances between items, (n_items, n_items) or condensed.
    ids : sequence of length n_items, default=None
        Unique id of each item. None: the index of a data frame, or numbers from 0.
    items : sequence, default=None
        In place of features: the ids of items of which nothing else is known. They are then
        grouped by answers alone.
    n_clusters : int or None, default=None
        Number of groups. None: estimated from answers and features; some strategies need a number,
        and some take none.
    standardize : bool or "auto", default="auto"
        Whether each feature is divided by its standard deviation. "auto": if features seem to be in
        different units, as those of a table; not those of an embedding, pixels or principal
        components. A strategy given as an object keeps its own `standardize`, if that is not
        "auto".
    strategy : str or Strategy, default="guided"
        How questions are chosen: "guided", "random", "uncertain", "most_probable", "min_max",
        "explore_consolidate", "cac1", "cobra", "cobras", "active_spectral",
        "correlation_information", "expected_change", "margin", "active_subclustering", or an object
        of `clew.questions`.
    kinds : "auto" or sequence of str, default=("pair",)
        Kinds of questions: "pair", "triplet", "odd_one_out", "which_of", "confirm". "auto": pairs
        and which-of questions, whichever tell most per second, as fast as the person answers each.
    repeat_every : int or None, default=20
        One question in `repeat_every` is one that the same person has answered before; agreement
        with oneself is estimated from these. The groups follow from the first of the two answers.
        None: no repeats.
    check_every : int or None, default=20
        Every `check_every`-th question is a check, about a pair drawn at random;
        `SessionResult.quality_` is estimated from the checks. None: no checks.
    n_examples : int, default=3
        Number of further items of the same group that are shown beside one item of a pair or a
        triplet, if its group is settled, from 20 answers on; 0 for none. The answer is about the
        item itself. Neither whether nor which examples are shown depends on how the other items
        are related to it.
    annotators : int, list of str or None, default=None
        How many people answer each question, or their names: then each question goes to all of
        them, and nobody else may answer. None: each question goes to one person, whoever asks
        first.
    background : bool, default=False
        Whether a thread in the background learns each answer at once. While it learns, `ask`
        returns questions that were chosen before, so questions depend on timing. False: the next
        call that needs the model learns the answers.
    random_state : int, RandomState or None, default=None
        Seed of the strategy and of the checks.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. Results do not depend on it.

    Raises
    ------
    InvalidArgumentError
        If not exactly one of `X`, `distances` and `items` is given, or `standardize` without `X`.
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If data are not numbers, or not finite, or there are fewer than two items.
    InvalidConstraintsError
        If ids are missing or repeated.

    Notes
    -----
    The state is a function of the parameters, the answers in their order and who was asked what:
    sessions of the same seed ask the same questions if the same methods are called in the same
    order, unless `background` is set. Methods may be called from several threads. `tell`, `undo`
    and `retract` only record: they return at once, also while the model learns.

    See `clew.questions` for the time and memory of each strategy.

    Examples
    --------
    >>> import clew
    >>> species = {"a": "cat", "b": "cat", "c": "dog", "d": "dog"}
    >>> X = [[0.0], [0.1], [5.0], [5.2]]
    >>> session = clew.Session(X, ids=list(species), random_state=0)
    >>> for question in session.ask(3, annotator="ann"):
    ...     first, second = question.ids
    ...     word = "same" if species[first] == species[second] else "different"
    ...     _ = session.tell(question, word, annotator="ann")
    >>> dict(zip(session.ids, session.result().labels_.tolist()))
    {'a': 0, 'b': 0, 'c': 1, 'd': 1}
    """

    def __init__(
        self,
        X: ArrayLike | Any | None = None,
        *,
        distances: ArrayLike | Any | None = None,
        ids: Iterable[Hashable] | None = None,
        items: Sequence[Any] | None = None,
        n_clusters: int | None = None,
        standardize: bool | Literal["auto"] = "auto",
        strategy: str | Strategy = "guided",
        kinds: Literal["auto"] | Sequence[Kind] = ("pair",),
        check_every: int | None = 20,
        repeat_every: int | None = 20,
        n_examples: int = 3,
        annotators: int | Sequence[str] | None = None,
        background: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        check_number("check_every", check_every, low=2)
        check_number("repeat_every", repeat_every, low=2)
        check_number("n_clusters", n_clusters, low=1)
        check_number("n_examples", n_examples, low=0)
        wanted = kinds_of(kinds)
        found = session_items(X, distances, ids, items, as_standardize(standardize), n_clusters)
        if n_clusters is not None and n_clusters > len(found.ids):
            raise InvalidParameterError(
                f"Session(n_clusters={n_clusters}): there are only {len(found.ids)} items"
            )
        own = (
            random_state
            if isinstance(random_state, Integral)
            else derived_seeds(random_state, 1)[0]
        )
        of_strategy, of_checks = derived_seeds(int(own), 2)
        queue = Queue(annotators, repeat_every, of_checks)
        self._start = partial(
            started, strategy, n_clusters=n_clusters, kinds=wanted, seed=of_strategy, n_jobs=n_jobs
        )
        made = self._start(found)
        model = GuidedClustering(
            getattr(made, "n_clusters", None),
            metric="precomputed" if found.is_distances and found.is_known else "euclidean",
            standardize=found.standardize,
            random_state=own,
            n_jobs=n_jobs,
        )
        #: What `restore` does not have to be told.
        self._parameters = {
            "n_clusters": n_clusters, "standardize": standardize, "kinds": kinds,
            "check_every": check_every, "repeat_every": repeat_every, "annotators": annotators,
            "n_examples": n_examples, "random_state": own,
        }  # fmt: skip
        if isinstance(strategy, str):
            self._parameters["strategy"] = strategy
        self._loop = Loop(
            found, made, queue, check_every, of_checks, model, n_examples, background=background
        )
        self._kinds, self._X, self._n_clusters = wanted, X, n_clusters
        self._standardize = as_standardize(standardize)

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """Id of each item."""
        return self._loop.items.ids.names

    @property
    def strategy(self) -> Strategy:
        """The strategy, which has learned all answers. Only read it; `tell` takes answers."""
        with self._loop.model() as model:
            return model.strategy

    def question(self, *ids: Hashable, kind: Kind = "pair") -> Question:
        """Make a question about chosen items, to `tell` an answer that was not asked for.

        Parameters
        ----------
        *ids : hashable
            Ids of two items, or of three.
        kind : {"pair", "triplet", "odd_one_out"}, default="pair"
            What is asked.

        Returns
        -------
        Question

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown, or their number is wrong.
        """
        rows = self._loop.items.ids.rows_of(ids, lambda _: "question")
        return self._loop.named(Question(kind, tuple(rows.tolist()), origin="imported"))

    def ask(
        self,
        n: int = 1,
        *,
        annotator: str = "",
        kinds: Sequence[Kind] | None = None,
        held: Iterable[Question] = (),
    ) -> list[Question]:
        """Return questions for one person.

        Parameters
        ----------
        n : int, default=1
            Number of questions that the person is to have, with those that are held.
        annotator : str, default=""
            Who is asked. Questions that this person was asked before and has not answered come
            first; questions of other people are left out, unless `annotators` says that more than
            one person answers each.
        kinds : sequence of str, default=None
            Kinds of questions for this person, of those of the session. None: all of these.
        held : iterable of Question, default=()
            Questions that the person has on the screen or waiting; they are not returned again.

        Returns
        -------
        list of Question
            At most `n`, less those that are held, the most useful first, with `Question.ids`; fewer
            if there are no more.

        Raises
        ------
        InvalidParameterError
            If `n` is not a positive integer, or a kind is not one of the session's.
        InvalidArgumentError
            If `annotator` is not one of the session's annotators.
        InvalidConstraintsError
            If a question that is held has an unknown id.
        """
        return self._loop.ask(positive("ask", n), annotator, self._some_kinds(kinds), held)

    def suggest(
        self,
        n: int,
        *,
        exclude: Iterable[Question] = (),
        kinds: Sequence[Kind] | None = None,
        learn: bool = True,
    ) -> list[Suggestion]:
        """Return the questions that would be asked next, and hand out none: for pools and tests.

        Parameters
        ----------
        n : int
            Number of questions.
        exclude : iterable of Question, default=()
            Questions that others hold; neither these nor those that their answers may imply are
            returned.
        kinds : sequence of str, default=None
            Kinds of questions, of those of the session. None: all of these.
        learn : bool, default=True
            Whether all entries of the log are learned first. False: choose by what `learn` has
            learned, at once.

        Returns
        -------
        list of Suggestion
            At most `n`, the most useful first. Checks among them are drawn: answers to them count
            in `quality_`, whoever hands them out.

        Raises
        ------
        InvalidParameterError
            If `n` is not a positive integer, or a kind is not one of the session's.
        InvalidConstraintsError
            If a question has an unknown id.
        """
        chosen = self._some_kinds(kinds)
        return self._loop.suggest(positive("suggest", n), exclude, chosen, is_learning=learn)

    def _some_kinds(self, kinds: Sequence[Kind] | None) -> tuple[Kind, ...] | None:
        if kinds is None:
            return None
        found = kinds_of(kinds)
        if not set(found) <= set(self._kinds):
            raise InvalidParameterError(
                f"kinds={kinds!r}: the session asks {', '.join(self._kinds)}; name all kinds in "
                "Session(kinds=...)"
            )
        return found

    def add_items(self, X: ArrayLike | Any, ids: Iterable[Hashable] | None = None) -> Self:
        """Add items, with all answers kept.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_new, n_features)
            Features of the new items, of the same kind as those of the session.
        ids : sequence of length n_new, default=None
            Their ids. None: the index of a data frame.

        Returns
        -------
        self

        Raises
        ------
        InvalidArgumentError
            If the session has no features, or those of a Dask array, or if there are no ids.
        InvalidDataError
            If the features do not fit those of the session.
        InvalidConstraintsError
            If an id is there already.

        Notes
        -----
        The strategy starts anew and learns all answers; groups keep their ids in
        ``result(previous=...)``.
        """
        if self._X is None or is_dask(self._X):
            raise InvalidArgumentError(
                "add_items needs a Session(X) of features; make a new Session of all items, and "
                "pass it the entries: Session(...).apply(session.log)"
            )
        if ids is None:
            given: Any = X
            if not hasattr(given, "iloc"):
                raise InvalidArgumentError("add_items needs the ids, or a data frame with an index")
            ids = given.index
        together = with_rows(self._X, X)
        names = (*self.ids, *ids)
        found = session_items(together, None, names, None, self._standardize, self._n_clusters)
        self._loop.replace_model(found, self._start(found))
        self._X = together
        return self

    def learn(self, budget_s: float | None = None) -> int:
        """Learn what was told, in the time that is given.

        Parameters
        ----------
        budget_s : float or None, default=None
            Seconds after which no further answers are begun. None: learn all.

        Returns
        -------
        int
            Number of entries of the log that are left.

        Raises
        ------
        InvalidParameterError
            If `budget_s` is negative.
        """
        if not Allowed(kind=float, low=0, none=True).holds(budget_s):
            raise InvalidParameterError(
                f"learn(budget_s={budget_s!r}): it must be 0 or more, or None"
            )
        return self._loop.learn(budget_s)

    def snapshot(self) -> bytes:
        """Return what takes long to compute from the log, to continue later with `restore`.

        Returns
        -------
        bytes
            An archive of NumPy arrays without pickled objects, of a few megabytes.
        """
        with self._loop.model() as model, self._loop.recording:
            return snapshot_of(self._loop, model.strategy.state(), self._parameters)

    @staticmethod
    def open(path_or_url: str | os.PathLike[str], *, worker: bool = False) -> StoreSession:
        """Open the session of a project, which is shared with everybody who has it open.

        Parameters
        ----------
        path_or_url : str or path-like
            Folder of the project, its folder ``.clew``, a file of SQLite, or the address of a
            database of PostgreSQL.
        worker : bool, default=False
            Whether a thread here learns the answers and suggests questions, as ``clew worker``
            does. If another worker has the project, it waits until that one ends. False: others
            learn, and `result` is what they have published last.

        Returns
        -------
        StoreSession
            It has the verbs of a session; `ask`, `tell` and `undo` talk to the store.

        Raises
        ------
        ProjectNotFoundError
            If there is no project.
        StoreError
            If the store cannot be opened, or a newer clew has made it.

        Examples
        --------
        >>> import tempfile
        >>> import clew
        >>> from clew.collections import Project
        >>> from clew.items import Item
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Project.create(folder).open_store() as store:
        ...         _ = store.add_items(Item(name, "text", text=name) for name in ("wren", "owl"))
        ...     with clew.Session.open(folder) as session:
        ...         question = session.question("wren", "owl")
        ...         _ = session.tell(question, "different", annotator="ann")
        ...         len(session.answers)
        1
        """
        return open_session(path_or_url, worker=worker)

    @classmethod
    def restore(
        cls, X: ArrayLike | Any | None, snapshot: bytes, entries: Iterable[Entry], **parameters: Any
    ) -> Self:
        """Continue a session: the next question is the same as without the interruption.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_items, n_features)
            Features, as they were; None if `parameters` has ``distances`` or ``items``.
        snapshot : bytes
            What `snapshot` returned.
        entries : iterable of Entry
            The log: `log` at that time, and what arrived later.
        **parameters : object
            Parameters of the session that are not as they were; ``ids``, ``items``, ``distances``
            and a strategy of one's own always, since a snapshot does not hold them.

        Returns
        -------
        Session

        Raises
        ------
        InvalidDataError
            If the snapshot is damaged, of another version, or of other items, another strategy or
            another log.
        """
        header, state = read_snapshot(snapshot)
        log = list(entries)
        session = cls(X, **{**header["parameters"], **parameters})
        session.apply(log)
        with session._loop.recording:
            resume(session._loop, header, log)
            session._loop.set_state(state, header["n_entries"])
        return session

    def release(self, annotator: str) -> Self:
        """Let the questions that a person has not answered go to others.

        Parameters
        ----------
        annotator : str
            Who has left.

        Returns
        -------
        self
        """
        with self._loop.recording:
            self._loop.queue.release(annotator)
        return self

    def run(self, oracle: Oracle, budget: int, *, batch: int = 1) -> Self:
        """Let an oracle answer questions; call it again to continue.

        Parameters
        ----------
        oracle : Oracle
            Answers, such as `clew.oracles.SimulatedOracle`.
        budget : int
            Number of further answers; don't-knows count.
        batch : int, default=1
            Number of questions asked at once.

        Returns
        -------
        self

        Raises
        ------
        InvalidParameterError
            If a number is not positive.
        InvalidArgumentError
            If more people are to answer each question than the oracle has.

        Notes
        -----
        It ends early if there are no more questions. If several people answer each question, the
        oracle answers as each of them.
        """
        for name, value in (("budget", budget), ("batch", batch)):
            positive("run", value, name)
        people = self._loop.queue.people(getattr(oracle, "annotators", ()))
        left, is_done = budget, False
        while left and not is_done:
            is_done = True
            for person in people:
                questions = self.ask(min(batch, left), annotator=person or "") if left else []
                self.tell([oracle.answer(question, person) for question in questions])
                left, is_done = left - len(questions), is_done and not questions
        return self

    def labels(self) -> NDArray[np.int64]:
        """Return the strategy's groups so far, fast; `result` has those of `GuidedClustering`.

        Returns
        -------
        ndarray of shape (n_items,), int64
            Group of each item, numbered from 0 in the order of their first items.
        """
        with self._loop.model() as model:
            return model.strategy.labels()

    def result(self, previous: SessionResult | Mapping[str, Any] | None = None) -> SessionResult:
        """Return what is known so far: groups, doubts, quality, and the questions that remain.

        Parameters
        ----------
        previous : SessionResult or dict, default=None
            An earlier result, or what its `to_dict` returned. Groups keep their lasting ids, and
            an item that people have called the same as another item of its group is parted from
            it only if an answer that contradicts the earlier groups leads to its new group. None:
            ids begin at 0, and nothing is held.

        Returns
        -------
        SessionResult
            Later answers do not change it.

        Notes
        -----
        With the strategy "guided" and without `previous`, groups and doubts are those of
        ``GuidedClustering(n_clusters, random_state=random_state)``, fitted to the same items and
        answers: the same wherever one asks. The fit is kept until there are other answers. Other
        strategies have groups of their own.
        """
        with self._loop.model() as model:
            return result_of(self._loop, model, previous)

    def fit_all(self) -> GuidedClustering:
        """Group all rows by the answers so far, also those that nobody is asked about.

        Returns
        -------
        GuidedClustering
            Fitted to `X`, or to the answers alone if there are no features. Its `labels_` are for
            all rows of a Dask array, of which a session asks about some; others are those of
            `result`, before edits.

        Raises
        ------
        ClusterError
            If the cluster of a Dask array was lost.

        Examples
        --------
        >>> import dask.array as da
        >>> import clew
        >>> X = da.from_array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], chunks=(2, 1))
        >>> session = clew.Session(X, random_state=0)
        >>> _ = session.tell(session.question(0, 3), "different")
        >>> session.fit_all().labels_.shape
        (6,)
        """
        with self._loop.model() as chooser:
            return chooser.fitted_to_all()

    def __repr__(self) -> str:
        name = self._loop.strategy_name
        return f"Session({len(self.ids)} items, {len(self.answers)} answers, strategy={name})"
