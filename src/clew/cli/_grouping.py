"""The work of ``clew group``, on files and on projects: read, fit, write, summarize."""

from __future__ import annotations

import shlex
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew._estimators import Clusterer
from clew._files import check_regular
from clew.answers import Answer, Kind, as_table_answers, last_answers, line_of
from clew.answers._log import check_content_of_log, is_log, read_log
from clew.cli._groups import (
    Doubted,
    Groups,
    about_numbers_of,
    doubtful_csv,
    find_groups,
    groups_csv,
    saved_bytes,
)
from clew.cli._models import Model, build_model, features_for
from clew.cli._options import ANSWER_COLUMNS, about_row_numbers, project_and_store
from clew.cli._outputs import check_writable, write_or_keep, write_with_table
from clew.cli._project_rows import answers_of_project, rows_of_items
from clew.cli._reading import RowsJob, read_rows, with_records
from clew.cli._report import Findings, report_page
from clew.cli._rows import Rows
from clew.cli._words import Words, counted, sizes_words
from clew.cli.status import status_of
from clew.cluster import GuidedClustering
from clew.constraints import Constraints, Support, check_constraints
from clew.constraints._files import Layout
from clew.exceptions import (
    ClewError,
    ClewWarning,
    DistancesAsFeaturesWarning,
    FileFormatError,
    InvalidDataError,
    InvalidParameterError,
    UnsupportedConstraintError,
)
from clew.exports import AGAINST, BETWEEN, doubts_of, files_of, grouped
from clew.metrics import n_violated

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.store import Store
    from clew.worker import Worker

#: Methods that report their progress, and what their progress bar says.
LONG_WORK = {"guided": "Fitting clusterings", "coprf": "Growing trees", "clustrf": "Growing trees"}

#: What errors say if answers name items that are not among the rows.
UNKNOWN = ("no row with the id", "name items that are not there")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(RowsJob):
    """Options of ``clew group``."""

    n_groups: int | None
    names: list[str] | None
    constraints: Path | None
    item_columns: list[str] | None
    answer_column: str | None
    annotator_column: str | None
    kind: str | None
    answer_encoding: str | None
    method: str
    output: Path | None
    doubtful: Path | None
    report: Path | None
    save: Path | None
    mode: str
    trust: str
    n_trees: int
    dask: str | None

    @property
    def layout(self) -> Layout:
        """The columns of the table of answers, where options name them."""
        return Layout(*(getattr(self, name) for name in ANSWER_COLUMNS))

    @property
    def outputs(self) -> list[Path]:
        """The files that are written."""
        paths = (self.output, self.doubtful, self.report, self.save)
        return [path for path in paths if path is not None]


def run(job: Job) -> dict[str, Any]:
    """Group the rows of a file; return the summary that ``--json`` prints."""
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(*job.outputs)
    if job.constraints is not None:
        check_regular(job.constraints)
    items = _items(job, words)
    answers = read_answers(job, items.X.shape[0], items, words)
    model, X = _fitted(job, items, answers, words)
    groups = find_groups(model, X, answers, is_distances=items.is_distances, names=job.names or ())
    summary = summarize(model, groups, answers, None if items.is_distances else X.shape[1])
    summary |= about_run(job, job.output, start)
    made = {"Answers": str(job.constraints)} if job.constraints is not None else {}
    found = Findings(items, X, answers, model, groups, summary, job.items, made)
    files = _files(job, found, is_number_chosen=job.n_groups is None)
    write_with_table(files, job.output, groups_csv(items.ids, groups), "groups.csv")
    print_summary(words, job, summary, model)
    say_doubtful(words, job, groups, items.ids.__getitem__)
    if len(groups.names) > len(summary["sizes"]):
        words.say(f"there are only {len(summary['sizes'])} groups for {len(groups.names)} names")
    return summary


def about_run(job: Job, output: Path | None, start: float) -> dict[str, Any]:
    """Return what ``--json`` prints about the options, the files and the time."""
    return {
        "method": job.method,
        "seed": job.seed,
        "groups_file": None if output is None else str(output),
        "doubtful_file": None if job.doubtful is None else str(job.doubtful),
        "seconds": round(time.perf_counter() - start, 3),
    }


def _files(job: Job, found: Findings, *, is_number_chosen: bool) -> dict[Path, str | bytes]:
    """Return the doubtful answers, the report and the saved result, where they are wanted."""
    ids, answers, groups = found.items.ids, found.answers, found.groups
    files: dict[Path, str | bytes] = {}
    if job.doubtful is not None:
        files[job.doubtful] = doubtful_csv(ids.__getitem__, answers, groups.doubted)
    if job.report is not None:
        files[job.report] = report_page(found, is_number_chosen=is_number_chosen)
    if job.save is not None:
        assert isinstance(found.model, GuidedClustering)  # others are refused before
        files[job.save] = saved_bytes(found.model, ids, answers, groups)
    return files


def check_n_groups(job: Job, n: int) -> None:
    """Refuse more groups than rows."""
    if job.n_groups is not None and job.n_groups > n:
        raise InvalidParameterError(
            f"--n-groups {job.n_groups} is too many: {job.items} has only {n} rows"
        )


def _items(job: Job, words: Words) -> Rows:
    items = read_rows(job, words)
    if job.method == "guided":
        items = with_records(items, job.n_groups, words)
    n, n_features = items.X.shape
    if n_features == 0:
        if job.constraints is None and job.project is None:
            raise InvalidDataError(
                f"{job.items}: no column can be used as a feature; rows without features can be "
                "grouped by answers (--constraints)"
            )
        if job.method != "guided":
            raise InvalidDataError(
                f"{job.items}: no column can be used as a feature, and --method {job.method} needs "
                "features; --method guided groups rows by answers alone"
            )
    elif not items.is_distances:
        words.detail(f"{job.items}: {counted(n, 'row')}, {counted(n_features, 'feature')}")
    check_n_groups(job, n)
    return items


def read_answers(job: Job, n: int, items: Rows | None, words: Words) -> Constraints:
    """Read the answers about n rows, which have no ids if there are no `items`."""
    if job.project is not None and items is not None:
        return answers_of_project(job.project, items.ids)
    if job.constraints is None:
        return Constraints(n)
    has_ids = items is not None and items.has_ids
    is_jsonl = job.constraints.suffix.lower() == ".jsonl"
    layout = {} if is_jsonl else job.layout._asdict()
    read: Any = Constraints.read_jsonl if is_jsonl else Constraints.read_csv
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ClewWarning)
        try:
            ids = [str(row) for row in range(n)] if items is None else items.ids
            answers: Constraints = read(job.constraints, n_samples=n, ids=ids, **layout)
        except FileFormatError as error:
            if not any(one in str(error) for one in UNKNOWN):
                raise
            why = "" if has_ids else "; the rows have numbers in place of ids"
            columns = {} if items is None else items.frame.astype(str).to_dict("list")
            for name, texts in columns.items():
                with suppress(ClewError):
                    read(job.constraints, n_samples=n, ids=texts, **layout)
                    option = f"--id-column {shlex.quote(str(name))}"
                    why += f"; the ids of all answers are in a column: {option}"
                    break
            else:
                why += (
                    "" if has_ids else ": --id-column, or --ids for an array, says where they are"
                )
            raise FileFormatError(f"{error}{why}") from error
    for warning in warned:
        words.say(str(warning.message))
    if is_jsonl and is_log(job.constraints):
        log = read_log(job.constraints)
        words.say_incomplete(job.constraints, log.torn)
        if items is not None and not (has_ids or job.answers_alone):
            check_content_of_log(job.constraints, log.lines, items.content_of)
        if n_again := len(log.lines) - len(last_answers(log.entries)):
            words.say(f"{counted(n_again, 'answer')} to repeated questions: the first ones count")
    elif has_ids and (note := about_row_numbers(job.constraints, job.layout.encoding)):
        words.say(note)
    words.detail(f"{job.constraints}: {counted(len(answers), 'answer')}")
    # If the rows have no ids, their numbers were used as ids to read the answers. They are removed,
    # so that messages name rows by number.
    return answers if has_ids else answers.with_ids(None)


def _fitted(job: Job, items: Rows, answers: Constraints, words: Words) -> tuple[Model, Any]:
    """Return the fitted model, and the features or distances that it was fitted to."""
    model = build_model(
        job.method, job.n_groups, n_trees=job.n_trees, mode=job.mode, trust=job.trust,
        seed=job.seed, jobs=job.jobs, is_distances=items.is_distances,
    )  # fmt: skip
    # Refuse kinds of answers that the method does not take, before the work begins.
    try:
        check_constraints(model, answers, answers.n_samples, getattr(model, "supports", Support()))
    except UnsupportedConstraintError as error:
        rest = "--constraints" if job.method in ("clustrf", "spectral") else "such answers"
        hint = f"use --method guided, or leave {rest} out"
        problem = str(error).partition(" ")[2].partition(". ")[0]
        raise UnsupportedConstraintError(f"--method {job.method} {problem}; {hint}") from error
    X: Any = items.X
    if not items.is_distances and X.shape[1]:
        features = features_for(model, X, job.standardizes, is_scaled=items.is_scaled)
        if "standardize" in model.get_params(deep=False):
            model.set_params(standardize=features.standardize)
        if items.folder is None and not items.are_records:
            words.say(features.note)
        X = features.X
    words.detail(f"grouping by {job.method}, seed {job.seed}")
    what = LONG_WORK.get(job.method, f"Fitting {job.method}")
    with warnings.catch_warnings(record=True) as warned, words.bar(what) as advance:
        warnings.simplefilter("always", ClewWarning)
        given: dict[str, Any] = {} if isinstance(model, Clusterer) else {"constraints": answers}
        if given and job.method in LONG_WORK:
            given["callback"] = advance
        rows: Any = X if X.shape[1] else None
        model.fit(rows, **given)
    for warning in warned:
        if warning.category is not DistancesAsFeaturesWarning:  # `read_rows` has asked
            words.say(str(warning.message))
    return model, X


#: Number of doubtful rows that the text names, and of annotators: those with the most wrong
#: answers. JSON, or the table, has all.
MOST_NAMED = 5


def summarize(
    model: Model, groups: Groups, answers: Constraints, n_features: int | None
) -> dict[str, Any]:
    """Return what ``--json`` prints about the result; `n_features` is None for distances."""
    rate = getattr(getattr(model, "similarity_", None), "error_rate_", None)
    rate = getattr(model, "error_rate_", rate)
    rate = None if rate is None or not np.isfinite(rate) else round(float(rate), 4)
    interval, rates = None, None
    if isinstance(model, GuidedClustering) and rate is not None:
        interval = [round(float(bound), 4) for bound in model.error_interval_]
        people = model.confusion_
        if len(people.annotators_) > 1:
            each = zip(people.annotators_, people.error_rates_, strict=True)
            rates = {name: round(float(of_one), 4) for name, of_one in each}
    probabilities = getattr(model, "n_clusters_probabilities_", {})
    return {
        "rows": sum(groups.sizes),
        "features": n_features,
        "sizes": groups.sizes,
        "names": list(groups.names),
        "doubtful_rows": int(groups.is_doubtful.sum()),
        "answers": len(answers),
        "violated": n_violated(groups.label, answers),
        "both_ways": _n_both_ways(answers),
        "alternatives": [
            {"groups": other.n_clusters, "violated": n_violated(other.labels, answers)}
            for other in getattr(model, "alternatives_", ())
        ],
        "probabilities": {str(n): round(p, 4) for n, p in probabilities.items()},
        "doubted": len(groups.doubted),
        "error_rate": rate,
        "error_interval": interval,
        "annotators": rates,
    }


def _n_both_ways(answers: Constraints) -> int:
    """Count pairs of rows that one person called both same and different."""
    counts = (answers.pair_answers >= 0) & (answers.pair_weights > 0)
    said = np.column_stack(
        [np.sort(answers.pairs, axis=1), answers.pair_annotators, answers.pair_answers]
    )[counts]
    different = np.unique(said, axis=0)
    return len(different) - len(np.unique(different[:, :3], axis=0))


def print_summary(words: Words, job: Job, summary: Mapping[str, Any], model: Model) -> None:
    """Print what the result is, and which files were written."""
    sizes = summary["sizes"]
    n_groups = len(sizes)
    words.say(
        f"{counted(summary['rows'], 'row')} in {counted(n_groups, 'group')} of "
        f"{sizes_words(sizes, 'row')}"
    )
    if job.n_groups is not None and n_groups < job.n_groups:
        words.say(f"only {n_groups} of {job.n_groups} groups were found")
    if job.n_groups is None:
        if getattr(getattr(model, "_fitted", None), "records", None) is not None:
            how = "how much nearer some rows are to each other than to all others"
        elif summary["features"] == 0:
            how = "answers"
        elif summary["error_rate"] is not None and getattr(model, "regime_", "") != "features":
            how = "answers and features"
        else:
            how = "features"
        words.say(f"chose {counted(n_groups, 'group')}, by {how}")
    if line := about_numbers_of(summary):
        words.say(line)
    if job.constraints is not None:
        _print_answers(words, job, summary, model)
    for path in job.outputs:
        words.say(f"wrote {path}")


def say_doubtful(words: Words, job: Job, groups: Groups, id_of: Callable[[int], str]) -> None:
    """Name doubtful rows, the least certain first, and say where the table has the reasons."""
    rows = np.flatnonzero(groups.is_doubtful)
    if not len(rows):
        return
    first = rows[np.argsort(groups.confidence[rows], kind="stable")][:MOST_NAMED].tolist()
    named = ", ".join(map(id_of, first))
    if (n_more := len(rows) - len(first)) > 0:
        named += f" and {n_more:,} more"
    where = "the groups" if job.output is None else job.output
    n_doubtful = counted(len(rows), "doubtful row")
    words.say(f"{n_doubtful}: {named}; the column doubt_reason of {where} says why")


def _print_answers(words: Words, job: Job, summary: Mapping[str, Any], model: Model) -> None:
    if not summary["answers"]:
        words.say(f"{job.constraints} has no answers: these are groups by features alone")
        return
    where = " (--doubtful FILE lists them)" if summary["doubted"] and job.doubtful is None else ""
    words.say(
        f"{counted(summary['answers'], 'answer')}, {summary['doubted']:,} of them doubtful{where}; "
        f"the groups go against {summary['violated']:,}"
    )
    if n_both := summary["both_ways"]:
        verb = "is" if n_both == 1 else "are"
        words.say(
            f"{counted(n_both, 'pair')} {verb} called both same and different by the same person: "
            "at least one answer about each is wrong"
        )
    if summary["error_rate"] is not None:
        words.say(_about_wrong_answers(summary))
        regime: Any = getattr(model, "regime_", "")
        if regime == "features":
            words.say(f"{regime.reason}: these are groups by features alone")
    elif job.method == "guided":
        words.say("no answer has a weight above 0 and says same or different")
    else:
        how = f"--trust {job.trust}" if job.method == "coprf" else f"--method {job.method}"
        words.say(f"{how} does not estimate which answers are wrong")


def _about_wrong_answers(summary: Mapping[str, Any]) -> str:
    text = f"about {summary['error_rate']:.0%} of the answers are wrong"
    if (interval := summary["error_interval"]) is not None:
        text += f", {interval[0]:.0%} to {interval[1]:.0%} with 95% confidence"
    if rates := summary["annotators"]:
        worst_first = sorted(rates.items(), key=lambda item: -item[1])
        named = ", ".join(
            f"{name or '(no name)'} {rate:.0%}" for name, rate in worst_first[:MOST_NAMED]
        )
        n_more = len(rates) - MOST_NAMED
        text += f"; by annotator: {named}" + (f", fewer of {n_more} others" if n_more > 0 else "")
    return text


#: Seconds between two looks at what another worker has learned.
PAUSE = 0.5


def run_in_project(job: Job) -> dict[str, Any]:
    """Group a project's items and write the files of options; only guided groups are published."""
    assert job.project is not None
    if job.method != "guided":
        return run(job)
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    check_writable(*job.outputs)
    files: dict[Path, str | bytes] = {}
    with project_and_store(job.project) as (project, store):
        if job.n_groups != store.settings()["n_clusters"] and job.n_groups is not None:
            store.set_settings({"n_clusters": job.n_groups})
        worker = learn(project, store, words)
        if worker.rows.note:
            words.say(worker.rows.note)
        elif hasattr(worker.rows.X, "columns"):
            items = store.items_by_id(worker.rows.ids)
            used = [items[name] for name in worker.rows.ids]
            for note in rows_of_items(project, used, worker.rows).notes:
                words.say(note)
        if job.names is not None:
            there = store.groups()
            for group, name in zip(there, job.names, strict=False):
                store.name_group(group.id, name=name)
            if len(job.names) > len(there):
                words.say(f"there are only {len(there)} groups for {len(job.names)} names")
        facts = status_of(project, store)
        if job.output is not None:
            files[job.output] = files_of("groups", store)["groups.csv"]
        if job.doubtful is not None or job.report is not None or job.save is not None:
            with words.bar("Preparing the report"):
                files |= _about_groups(job, project, store, worker, start)
    write_or_keep(files)
    for path in files:
        words.say(f"wrote {path}")
    return facts


def _about_groups(
    job: Job, project: Project, store: Store, worker: Worker, start: float
) -> dict[Path, str | bytes]:
    """Return the doubtful answers, the report and the saved result: all of the project's groups."""
    session = worker.read()
    members = {member.item.id: member for member in grouped(store)}
    used = [members[name] for name in worker.rows.ids]
    rows = rows_of_items(project, [member.item for member in used], worker.rows)
    evidence = session.strategy.answers
    answers = Constraints.from_answers(evidence, ids=rows.ids)
    model = session.fit_all()
    ids = list(dict.fromkeys(member.group for member in used if member.group is not None))
    place = {group: at for at, group in enumerate(ids)}
    groups = Groups(
        np.array([place.get(member.group, len(ids)) for member in used], np.int64),  # type: ignore[arg-type]
        np.array([member.confidence or 0.0 for member in used]),
        np.array([BETWEEN in member.doubt for member in used]),
        np.array([AGAINST in member.doubt for member in used]),
        np.array([member.n_answers for member in used], np.int64),
        tuple(next(m.name for m in used if m.group == group) for group in ids),
        tuple(_doubted(store, evidence)),
        tuple(ids),
    )
    result = store.result()
    assert result is not None
    n_features = None if rows.is_distances else rows.X.shape[1]
    summary = summarize(model, groups, answers, n_features) | {
        "method": job.method, "violated": result.body["n_violated"],
        "seed": store.settings()["random_state"], "seconds": round(time.perf_counter() - start, 3),
    }  # fmt: skip
    made = {"Project": str(job.project)}
    found = Findings(rows, rows.X, answers, model, groups, summary, job.items, made)
    return _files(job, found, is_number_chosen=store.settings()["n_clusters"] is None)


def _doubted(store: Store, evidence: Sequence[Answer]) -> list[Doubted]:
    """Find the doubtful entries of a store among the answers that were learned."""
    doubts = {doubt.entry.id: doubt for doubt in doubts_of(store)}
    n_before = Counter[Kind]()
    found = []
    for answer in as_table_answers(evidence):
        kind = answer.question.kind
        name = answer.edit or answer.id
        if name in doubts and answer.is_evidence:
            file, line = line_of(doubts[name].entry)
            found.append(Doubted(kind, n_before[kind], doubts[name].p_wrong, line, file))
        n_before[kind] += 1
    return sorted(found, key=lambda one: -one.p_wrong)


def learn(project: Project, store: Store, words: Words) -> Worker:
    """Learn all entries and publish the groups, or wait until another worker has done so."""
    from clew.worker import Worker, rows_of

    state = store.worker()
    with words.bar("Grouping") as advance:
        worker = Worker(store, rows_of(project, store, callback=advance), cache=project.cache)
        if state is not None and state.is_alive:
            words.say(
                f"a worker ({state.name}) is at work on this project: waiting until it has learned "
                "all"
            )
            while (state := store.worker()) is not None and state.is_alive:
                if (store.result_revision() or 0) >= store.last_seq():
                    return worker
                time.sleep(PAUSE)
        worker.run(until_rest=True)
    return worker
