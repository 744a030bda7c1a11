"""The items of a session, the strategy started on them, and checks of what methods accept."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack
from sklearn.base import clone

from clew import questions
from clew._units import WIDE_COLUMNS, Units
from clew._validation import Allowed, bad_value, check_matrix, is_dask, seems_distances
from clew._warnings import silenced, warn
from clew.answers import AUTO_KINDS, QUESTION_KINDS, Answer, Edit, Kind, Question, as_kind, items_of
from clew.cluster.guided._records import features_of_records, reduced
from clew.constraints._validation import RowIds, rows_and_ids
from clew.exceptions import (
    DistancesAsFeaturesWarning,
    InvalidArgumentError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.graphs import check_distances
from clew.questions import Strategy
from clew.tables import TableFeatures
from clew.tables._features import as_pandas, is_mixed

Floats = NDArray[np.float64]
Standardize = bool | Literal["auto"]
#: Most rows of a Dask array that are asked about, drawn at random.
N_REPRESENTATIVES = 20_000
#: Largest number of entries of a sparse matrix that is made dense (800 MB).
MOST_ENTRIES = 10**8


class Whole(NamedTuple):
    """All rows of a Dask array."""

    X: Any
    rows: NDArray[np.int64]
    """Numbers of the rows that are asked about, ascending."""


class Items(NamedTuple):
    """The items that are grouped."""

    X: Floats
    """Features, (n, n_features), or distances, (n, n); constant distances if neither is known."""
    ids: RowIds
    is_distances: bool
    is_known: bool
    """Whether features or distances are known; if not, answers alone group the items."""
    standardize: Standardize = False
    """Whether a strategy divides features by their standard deviations."""
    whole: Whole | None = None
    """The rows of a Dask array, of which the items are some; None of others."""

    @property
    def metric(self) -> str:
        """Value for the `metric` parameter of a strategy."""
        return "precomputed" if self.is_distances else "euclidean"


def session_items(
    X: Any,
    distances: Any,
    ids: Any,
    items: Any,
    standardize: Standardize = "auto",
    n_clusters: int | None = None,
) -> Items:
    """Check what a session is given: features, distances (square or condensed), or items alone."""
    given = [name for name, value in (("X", X), ("distances", distances), ("items", items))
             if value is not None]  # fmt: skip
    if len(given) != 1:
        what = " and ".join(given) or "none of them"
        raise InvalidArgumentError(
            f"a Session takes either X (features), distances or items (without features); got "
            f"{what}"
        )
    if X is None and standardize != "auto":
        raise InvalidArgumentError(
            f"Session(standardize={standardize!r}) has no effect without features, X; leave it out"
        )
    if items is not None:
        return _of_items(items, ids)
    if X is not None and is_dask(X):
        return _of_blocks(X, ids, standardize)
    frame = X if distances is None else distances
    names = getattr(frame, "index", None) if hasattr(frame, "columns") and ids is None else ids
    if distances is not None:
        if hasattr(frame, "columns") and list(frame.columns) != list(frame.index):
            raise InvalidDataError(
                "distances: the columns of the data frame must equal its index, in the same order; "
                "use distances.loc[:, distances.index]"
            )
        values, metric = check_distances(_values(frame)), True
    else:
        (values, standardize), metric = _features(frame, standardize, n_clusters), False
    return Items(values, _ids(len(values), names), metric, True, standardize)


def _of_items(items: Any, ids: Any) -> Items:
    if isinstance(items, str | bytes) or not hasattr(items, "__len__"):
        raise InvalidArgumentError(
            f"items must be a sequence of items or their ids, got {type(items).__name__}"
        )
    n = len(items)
    if n < 2:
        raise InvalidDataError(f"there must be two items or more, got {n}")
    names: Sequence[Hashable] | None = ids
    if ids is None:
        names = items.index if hasattr(items, "columns") else items
    distances = 1.0 - np.eye(n)
    return Items(distances, _ids(n, names), is_distances=True, is_known=False)


def _of_blocks(X: Any, ids: Any, standardize: Standardize) -> Items:
    """Draw representatives of the blocks of a Dask array, named by the numbers of their rows."""
    from clew._dask import DaskRows  # dask is optional

    if ids is not None:
        raise InvalidArgumentError(
            "ids: the items of a Dask array are named by the numbers of their rows; leave ids out"
        )
    blocks = DaskRows(X)
    n, random = blocks.n_rows, np.random.RandomState(0)
    rows = np.sort(random.choice(n, min(n, N_REPRESENTATIVES), replace=False)).astype(np.int64)
    values, standardize = _features(blocks.checked(rows), standardize)
    names = _ids(len(rows), rows.tolist())
    return Items(values, names, False, True, standardize, Whole(X, rows))


def _ids(n: int, names: Any) -> RowIds:
    _, ids = rows_and_ids(n, range(n) if names is None else names)
    assert ids is not None
    return ids


def _features(
    X: Any, standardize: Standardize, n_clusters: int | None = None
) -> tuple[Floats, Standardize]:
    """Return features as numbers, and whether a strategy standardizes them."""
    X = as_pandas(X) if hasattr(X, "columns") else X
    if hasattr(X, "columns") and is_mixed(X):
        records = features_of_records(X, n_clusters) if standardize == "auto" else None
        if records is not None:
            return reduced(records[1]), False
        recipe = TableFeatures(standardize=standardize)
        values = np.asarray(recipe.fit_transform(X), np.float64)
        return values, False if recipe.standardizes_ else standardize
    is_wide = bool(issparse(X)) and X.shape[1] > WIDE_COLUMNS
    if is_wide and standardize == "auto":
        standardize = False  # as in `FeatureSpace.fit`
    values = _matrix(X)
    if bad := bad_value(X if hasattr(X, "columns") else values):
        more = "" if hasattr(X, "columns") else ". Missing values may be in a pandas data frame"
        raise InvalidDataError(f"{bad}{more}")
    if seems_distances(values):
        warn(
            "X is square and symmetric with zeros on its diagonal: if these are distances, use "
            "Session(distances=...)",
            DistancesAsFeaturesWarning,
        )
    return values, standardize


def _matrix(X: Any) -> Floats:
    """Return features as a dense array, in which values may be missing."""
    given = _values(X)
    is_sparse = bool(issparse(given))
    if is_sparse:
        n, n_columns = given.shape
        if n * n_columns > MOST_ENTRIES:
            raise InvalidDataError(
                f"X is sparse and has {n:,} × {n_columns:,} entries, too many for a dense array: "
                "reduce its columns first, with sklearn's TruncatedSVD(100)"
            )
        given = given.toarray()
    if isinstance(given, np.ma.MaskedArray):
        given = np.ma.filled(np.ma.asarray(given, np.float64), np.nan)
    try:
        values: Floats = check_matrix(given, ensure_all_finite=False)
    except (TypeError, ValueError) as error:
        what = str(error).partition("\n")[0].partition(":")[0].rstrip(".")
        raise InvalidDataError(
            f"X cannot be used as features: {what}. X is a table of numbers with a row for each "
            "item; of items without features, pass items=..."
        ) from error
    return values


def _values(given: Any) -> Any:
    return given.to_numpy() if hasattr(given, "columns") else given


STRATEGIES: Final[Mapping[str, type[Strategy]]] = MappingProxyType(
    {
        "guided": questions.Guided,
        "random": questions.RandomPairs,
        "uncertain": questions.Uncertain,
        "most_probable": questions.MostProbable,
        "explore_consolidate": questions.ExploreConsolidate,
        "min_max": questions.MinMax,
        "cac1": questions.CAC1,
        "cobra": questions.COBRA,
        "cobras": questions.COBRAS,
        "active_spectral": questions.ActiveSpectral,
        "correlation_information": questions.CorrelationInformation,
        "expected_change": questions.ExpectedChange,
        "margin": questions.Margin,
        "active_subclustering": questions.ActiveSubclustering,
    }
)
#: Probability that two items are in the same group if neither features nor distances are known.
UNKNOWN = 0.25


def started(
    strategy: str | Strategy,
    items: Items,
    *,
    n_clusters: int | None,
    kinds: tuple[str, ...],
    seed: int,
    n_jobs: int | None,
) -> Strategy:
    """Make a strategy, by name or as a copy of an object, and start it."""
    made = _by_name(strategy, n_clusters, seed, n_jobs)
    parameters = made.get_params(deep=False)
    if "metric" in parameters:
        made.set_params(metric=items.metric)
    if kinds != ("pair",):
        if "kinds" not in parameters:
            raise InvalidParameterError(
                f"Session(kinds={kinds!r}): {type(made).__name__} asks about pairs only"
            )
        made.set_params(kinds=kinds)
    unknown = None
    if not items.is_known:
        unknown = np.full(items.X.shape, UNKNOWN)
        np.fill_diagonal(unknown, 1.0)
    X = items.X
    if parameters.get("standardize") == "auto":
        made.set_params(standardize=items.standardize)
    elif "standardize" not in parameters and not items.is_distances:
        units = Units.standardized(X, items.standardize)
        # Features that share a unit stay as they are: some parameters are in their unit.
        X = units.scale(X) if np.ptp(units.unit) > 0 or items.standardize is True else X
    with silenced():  # warnings name the session's parameters, not the strategy's
        return made.start(X, probabilities=unknown)


def _by_name(
    strategy: str | Strategy, n_clusters: int | None, seed: int, n_jobs: int | None
) -> Strategy:
    if isinstance(strategy, Strategy):
        if n_clusters is not None:
            raise InvalidParameterError(
                "Session(n_clusters=...) is for strategies given by name; set it in the strategy: "
                f"{type(strategy).__name__}(n_clusters={n_clusters})"
            )
        copied: Strategy = clone(strategy)
        return copied
    if not isinstance(strategy, str) or strategy not in STRATEGIES:
        raise InvalidParameterError(
            f"Session(strategy={strategy!r}): strategy must be one of {', '.join(STRATEGIES)}, or "
            "an object of clew.questions"
        )
    kind = STRATEGIES[strategy]
    parameters = inspect.signature(kind).parameters
    found: dict[str, Any] = {"random_state": seed}
    if "n_jobs" in parameters:
        found["n_jobs"] = n_jobs
    if "n_clusters" in parameters:
        if n_clusters is None and parameters["n_clusters"].default is not None:
            raise InvalidParameterError(
                f"the strategy {strategy!r} needs Session(n_clusters=...); 'guided' does not"
            )
        found["n_clusters"] = n_clusters
    elif n_clusters is not None:
        raise InvalidParameterError(
            f"the strategy {strategy!r} takes no number of groups; leave n_clusters out"
        )
    return kind(**found)


def positive(method: str, value: object, name: str = "n") -> int:
    """Refuse what is no positive integer."""
    if not Allowed(kind=int, low=1).holds(value):
        raise InvalidParameterError(
            f"{method}({name}={value!r}): {name} must be a positive integer"
        )
    return int(value)  # type: ignore[call-overload,no-any-return]


def with_rows(X: Any, new: Any) -> Any:
    """Return features with further rows, of the same kind."""
    try:
        if hasattr(X, "columns"):
            import pandas as pd

            if not hasattr(new, "columns"):
                names = ", ".join(map(str, X.columns))
                raise TypeError(f"these are a data frame: give one with the columns {names}")
            return pd.concat([as_pandas(X), as_pandas(new)[list(X.columns)]], ignore_index=True)
        if issparse(X):
            both: list[Any] = [X, new]
            return vstack([csr_array(each) for each in both])
        return np.vstack([np.asarray(X), np.asarray(new)])
    except (KeyError, TypeError, ValueError) as error:
        said = error.args[0] if error.args else error
        raise InvalidDataError(
            f"the features of the new items do not fit those of the session: {said}"
        ) from error


def ids_of(ids: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Refuse one text in place of several ids."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidArgumentError(f"expected several ids, got {ids!r}; one id is [{ids!r}]")
    return tuple(ids)


def check_number(name: str, value: object, *, low: int) -> None:
    """Refuse a parameter that is neither None nor an integer of `low` or more."""
    allowed = Allowed(kind=int, low=low, none=True)
    if not allowed.holds(value):
        raise InvalidParameterError(f"Session({name}={value!r}): {name} must be {allowed}")


def as_standardize(value: object) -> bool | Literal["auto"]:
    """Refuse anything but True, False and "auto"."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value != "auto":
        raise InvalidParameterError(
            f"Session(standardize={value!r}): standardize must be True, False or 'auto'"
        )
    return "auto"


def kinds_of(kinds: object) -> tuple[Kind, ...]:
    """Return kinds of questions, each once, in the order given."""
    if isinstance(kinds, str) and kinds == "auto":
        return AUTO_KINDS
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidParameterError(
            f"Session(kinds={kinds!r}): kinds must be 'auto' or a list, such as "
            "['pair', 'which_of']"
        )
    found = tuple(dict.fromkeys(as_kind(kind, QUESTION_KINDS) for kind in kinds))
    if not found:
        raise InvalidParameterError("Session(kinds=()): name at least one kind")
    return found


def answers_of(
    question: object, answer: str | int | None, annotator: str, weight: float
) -> list[Answer]:
    """Convert the arguments of `Session.tell` to a list of answers."""
    if isinstance(question, Question):
        if answer is None:
            raise InvalidArgumentError("tell(question, answer): the answer is missing")
        return [Answer(question, answer, annotator, weight, question.origin)]
    is_many = isinstance(question, Iterable) and not isinstance(question, str)
    if answer is not None or not (is_many or isinstance(question, Answer)):
        raise InvalidArgumentError(
            f"tell takes a Question and an answer, or Answers; got {question!r}; "
            "session.question('a', 'b') makes a question about the items 'a' and 'b'"
        )
    return [question] if isinstance(question, Answer) else list(question)  # type: ignore[call-overload]


def check_edit(edit: object, ids: RowIds) -> None:
    """Refuse what is no edit, or names other items."""
    if not isinstance(edit, Edit):
        raise InvalidArgumentError(f"expected a clew.answers.Edit, got {edit!r}")
    ids.rows_of(items_of(edit), lambda _: f"edit {edit.kind!r}")
