"""``clew review``: answers that look wrong, and what each change would do."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from clew._files import group_title
from clew.cli._options import PROJECT, QUIET, VERBOSE, login_name, project_and_store
from clew.cli._words import counted, printable, wrong_with
from clew.exceptions import InvalidParameterError

if TYPE_CHECKING:
    from clew.answers import Answer, Edit, Entry, Question
    from clew.cli._words import Words
    from clew.collections import Project
    from clew.exports import Doubt
    from clew.store import Store

#: Items that a message names when a change would move them.
MOST_MOVED = 5
#: Seconds to wait for a worker that runs elsewhere.
PATIENCE = 120.0
NOTHING_LEFT = 3
SOURCE = "clew review"


@click.command()
@PROJECT
@click.option("-n", "--most", type=click.IntRange(min=1), default=20, help="Answers to look at.")
@click.option(
    "--annotator",
    default=login_name,
    show_default="your login name",
    metavar="NAME",
    help="Who reviews; kept with each change.",
)
@click.option(
    "--preview/--no-preview",
    default=True,
    help="Whether to compute what each change would do, which takes as long as clew group.",
)
@click.option(
    "--take-back",
    multiple=True,
    metavar="ID",
    help="Take this answer back, and ask nothing; may be given several times.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the doubtful answers as JSON.")
@QUIET
@VERBOSE
@click.pass_context
def review(ctx: click.Context, /, project: Path | None, **options: Any) -> None:
    """Walk through the answers and edits that look wrong, the most doubtful first.

    Shows who said what, which other answers contradict it, and for each change which items would
    move. t takes it back, the other keys answer the question anew in its place, Enter goes on, q
    quits. Without a terminal, only prints. The exit status is 3 if no answer looks wrong.

    \b
    clew review
    clew review --no-preview --json
    clew review --take-back 5f0c3a…
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._words import Words
    from clew.exports import doubts_of

    quiet = options["quiet"] or options["as_json"]
    words = Words(quiet=quiet, verbose=options["verbose"])
    with project_and_store(project) as (opened, store):
        if options["take_back"]:
            from clew.answers import Retraction

            for each in options["take_back"]:
                logged = store.entry(each)
                if logged is None or not logged.is_standing:
                    what = (
                        "there is no answer"
                        if logged is None
                        else "it was taken back before: the answer"
                    )
                    raise InvalidParameterError(f"{what} {each!r}; clew review --json lists ids")
            store.append(
                [
                    Retraction(each, options["annotator"], source=SOURCE)
                    for each in options["take_back"]
                ]
            )
            words.say(
                f"took back {counted(len(options['take_back']), 'answer')}; clew group learns it"
            )
            return
        doubts = doubts_of(store)[: options["most"]]
        if not doubts:
            words.say("no answer looks wrong")
            if options["as_json"]:
                click.echo("[]")
            ctx.exit(NOTHING_LEFT)
        changes = [changes_to(doubt.entry, options["annotator"]) for doubt in doubts]
        if options["preview"]:
            changes = _previewed(opened, store, changes, words)
        if options["as_json"]:
            records = map(_record, doubts, changes)
            click.echo(json.dumps(list(records), ensure_ascii=False))
            return
        for at, (doubt, possible) in enumerate(zip(doubts, changes, strict=True)):
            click.echo(_text(at + 1, len(doubts), doubt, possible))
            if _is_terminal() and not _asked(store, possible):
                break


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


class Change(NamedTuple):
    """What somebody may do about a doubtful entry."""

    key: str
    does: str
    entry: Entry
    """What is appended to the log."""
    preview: Mapping[str, Any] | None = None
    """What would move, and what contradicts it; None if it was not computed."""


def changes_to(entry: Answer | Edit, annotator: str) -> list[Change]:
    """Return what may be done about an entry: take it back, or answer its question anew."""
    from clew.answers import Answer, Question, Retraction, new_id, now

    back = Retraction(entry.id, annotator, new_id(), now(), SOURCE)
    changes = [Change("t", "take it back", back)]
    if isinstance(entry, Answer):
        asked = entry.question
        question = Question(
            asked.kind, ids=asked.ids, origin="imported", parts=asked.parts, repeat=asked.repeat
        )
        changes += [
            Change(
                key, words,
                Answer(question, value, annotator, id=new_id(), at=now(), source=SOURCE,
                       revokes=None if value == entry.value else entry.id),
            )
            for key, value, words in _choices(asked)
        ]  # fmt: skip
    return changes


def _choices(question: Question) -> list[tuple[str, int, str]]:
    """Return the answers to a question: key, code and words."""
    from clew.answers import ALL_ALIKE, DIFFERENT, NONE_OF_THESE, SAME

    kind, ids = question.kind, list(map(str, question.ids or ()))
    if kind == "pair":
        return [("s", SAME, "same"), ("d", DIFFERENT, "different")]
    if kind == "confirm":
        return [("1", 0, "all belong together")]
    if kind == "triplet":
        words = [f"{ids[0]} is more like {name}" for name in ids[1:]]
    elif kind == "odd_one_out":
        words = [f"{name} is the odd one" for name in ids]
    else:
        first = [sum(question.parts[: at + 1]) for at in range(len(question.parts) - 1)]
        words = [f"{ids[0]} belongs to the group of {ids[at]}" for at in first]
    found = [(str(value + 1), value, text) for value, text in enumerate(words)]
    last = {"odd_one_out": (ALL_ALIKE, "all alike"), "which_of": (NONE_OF_THESE, "none of these")}
    if kind in last:
        found.append((str(len(found) + 1), *last[kind]))
    return found


def _previewed(
    project: Project, store: Store, changes: Sequence[Sequence[Change]], words: Words
) -> list[list[Change]]:
    """Ask the worker what each change would do; work here if there is none."""
    import time

    from clew.answers import entry_to_json
    from clew.cli._grouping import learn

    jobs = {
        change.entry.id: store.add_job("preview", {"entry": entry_to_json(change.entry)})
        for possible in changes
        for change in possible
    }
    learn(project, store, words)
    end = time.monotonic() + PATIENCE
    found: dict[str, Mapping[str, Any] | None] = {}
    for id, number in jobs.items():
        job = store.job(number)
        while job is not None and job.status in ("waiting", "running") and time.monotonic() < end:
            time.sleep(0.1)
            job = store.job(number)
        found[id] = job.result if job is not None and job.status == "done" else None
        if job is not None and job.status == "failed":
            words.say(f"what a change would do cannot be said: {job.error}")
    return [
        [change._replace(preview=found[change.entry.id]) for change in possible]
        for possible in changes
    ]


def _record(doubt: Doubt, changes: Sequence[Change]) -> dict[str, Any]:
    from clew.exports import doubt_records

    entry = doubt.entry
    (record,) = doubt_records([doubt])
    return {
        "id": record["entry"],
        **{name: record[name] for name in ("kind", "items", "p_wrong", "reason", "chain")},
        "answer": _said(entry),
        "annotator": entry.annotator,
        "at": record["time"],
        **{name: record[name] for name in ("file", "line")},
        "changes": [
            {"key": change.key, "does": change.does, "preview": change.preview}
            for change in changes
        ],
    }


def _said(entry: Answer | Edit) -> str:
    from clew.answers import Edit

    if isinstance(entry, Edit):
        return entry.kind.replace("_", " ")
    words = {value: text for _, value, text in _choices(entry.question)}
    if entry.question.kind == "confirm" and entry.value > 0:
        members = list(map(str, entry.question.ids or ()))[entry.question.parts[0] :]
        out = [name for at, name in enumerate(members) if entry.value >> at & 1]
        return f"{', '.join(out)} {'does' if len(out) == 1 else 'do'} not belong"
    return words.get(entry.value, str(entry.value))


def _text(number: int, n: int, doubt: Doubt, changes: Sequence[Change]) -> str:
    from clew.answers import items_of, line_of

    entry, (file, line) = doubt.entry, line_of(doubt.entry)
    named = [printable(str(name)) for name in items_of(entry)]
    more = f" and {len(named) - MOST_MOVED:,} more" if len(named) > MOST_MOVED else ""
    who = printable(entry.annotator) or "somebody"
    # A time of the log is 2026-03-01T10:05:00.000Z.
    when = f" on {entry.at[:10]} at {entry.at[11:16]} UTC" if entry.at else ""
    when = f" ({printable(file)}, line {line})" if line else when
    lines = [
        f"{number} of {n}: {', '.join(named[:MOST_MOVED])}{more}",
        f"    {who} said {printable(_said(entry))}{when}; {wrong_with(doubt.p_wrong)}  "
        f"[{entry.id}]",
    ]
    if doubt.reason:
        lines.append(f"    {printable(doubt.reason)}")
    elif doubt.chain:
        lines.append(f"    other answers lead over {', '.join(map(printable, doubt.chain))}")
    lines += [
        f"    {change.key}  {printable(change.does)}: {_moves(change.preview)}"
        for change in changes
        if change.preview is not None
    ]
    return "\n".join(lines)


def _moves(preview: Mapping[str, Any]) -> str:
    against = len(preview.get("contradicts", ()))
    verb = "contradicts" if against == 1 else "contradict"
    chains = f"; {counted(against, 'chain')} of answers {verb} it" if against else ""
    moves = preview["moves"]
    if not moves:
        return f"no item would move{chains}"
    named = ", ".join(
        f"{printable(str(move['id']))} to {group_title(move['after'])}"
        for move in moves[:MOST_MOVED]
    )
    more = f", and {len(moves) - MOST_MOVED} more" if len(moves) > MOST_MOVED else ""
    return f"{counted(len(moves), 'item')} would move: {named}{more}{chains}"


def _asked(store: Store, changes: Sequence[Change]) -> bool:
    """Ask what to do; return whether to go on."""
    change_of = {change.key: change for change in changes}
    keys = {key: printable(change.does) for key, change in change_of.items()}
    shown = ", ".join(f"{key} {words}" for key, words in keys.items())
    while True:
        key = click.prompt(
            f"    {shown}, Enter next, q quit", default="", show_default=False, err=True
        )
        key = key.strip().lower()
        if key in ("", "q", *change_of):
            break
    if key in change_of:
        store.append([change_of[key].entry])
    return bool(key != "q")
