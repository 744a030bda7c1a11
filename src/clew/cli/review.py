"""``clew review``: answers that look wrong, and what each change would do."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from clew.cli._options import QUIET, VERBOSE
from clew.cli._projects import PROJECT, login_name, project_and_store
from clew.cli._words import counted, printable
from clew.exceptions import InvalidDataError, InvalidParameterError

if TYPE_CHECKING:
    from clew.answers import Answer
    from clew.cli._progress import Words
    from clew.collections import Project
    from clew.store import Store

#: Items that a message names when a change would move them.
MOST_MOVED = 5
#: Seconds to wait for a worker that runs elsewhere.
PATIENCE = 120.0
NOTHING_LEFT = 3
KEYS = {"t": "take it back", "s": "same", "d": "different", "": "next", "q": "quit"}


class Doubt(NamedTuple):
    """An answer that looks wrong."""

    answer: Answer
    p_wrong: float
    reason: str
    chain: Sequence[str]


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
    """Walk through the answers that look wrong, the most doubtful first.

    Shows who said what, which other answers contradict it, and which items would move if it were
    the other way round. t takes the answer back, s and d answer the question anew, Enter goes on, q
    quits. Without a terminal, only prints. The exit status is 3 if no answer looks wrong.

    \b
    clew review
    clew review --no-preview --json
    clew review --take-back 5f0c3a…
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._progress import Words

    quiet = options["quiet"] or options["as_json"]
    words = Words(quiet=quiet, verbose=options["verbose"])
    with project_and_store(project) as (opened, store):
        if options["take_back"]:
            _take_back(store, options["take_back"], options["annotator"])
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
        previews: list[Mapping[str, Any] | None] = [None] * len(doubts)
        if options["preview"]:
            previews = _previews(opened, store, doubts, words)
        if options["as_json"]:
            records = [
                _record(doubt, previews[at] if previews else None)
                for at, doubt in enumerate(doubts)
            ]
            click.echo(json.dumps(records, ensure_ascii=False))
            return
        for at, doubt in enumerate(doubts):
            click.echo(_text(at + 1, len(doubts), doubt, previews[at]))
            if _is_terminal() and not _asked(store, doubt, options["annotator"]):
                break


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def doubts_of(store: Store) -> list[Doubt]:
    """Return the doubtful answers of the newest result that still stand."""
    from clew.answers import Answer

    result = store.result()
    if result is None:
        raise InvalidDataError("there are no groups yet; clew group makes them, and finds doubts")
    found = []
    for each in result.body["doubtful"]:
        logged = store.entry(each["id"] or each["edit"])
        if logged is not None and logged.is_standing and isinstance(logged.entry, Answer):
            chain = [str(name) for name in each["chain"]]
            found.append(Doubt(logged.entry, each["p_wrong"], each["reason"], chain))
    return sorted(found, key=lambda doubt: -doubt.p_wrong)


def _opposite(answer: Answer) -> dict[str, Any] | None:
    """Return the edit that says the opposite of an answer about a pair."""
    from clew.answers import SAME

    if answer.question.kind != "pair":
        return None
    first, second = map(str, answer.question.ids or ())
    kind = "split" if answer.value == SAME else "merge"
    return {"kind": kind, "items": [first], "target": [second]}


def _previews(
    project: Project, store: Store, doubts: Sequence[Doubt], words: Words
) -> list[Mapping[str, Any] | None]:
    """Ask the worker what the opposite of each answer would do; work here if there is none."""
    import time

    from clew.cli._project_grouping import learn

    edits = [_opposite(doubt.answer) for doubt in doubts]
    jobs = [None if edit is None else store.add_job("preview", edit) for edit in edits]
    learn(project, store, words)
    end = time.monotonic() + PATIENCE
    found: list[Mapping[str, Any] | None] = []
    for number in jobs:
        job = None if number is None else store.job(number)
        while job is not None and job.status in ("waiting", "running") and time.monotonic() < end:
            time.sleep(0.1)
            job = store.job(job.id)
        is_done = job is not None and job.status == "done"
        found.append(job.result if is_done and job is not None else None)
        if job is not None and job.status == "failed":
            words.say(f"what the change would do cannot be said: {job.error}")
    return found


def _record(doubt: Doubt, preview: Mapping[str, Any] | None) -> dict[str, Any]:
    answer = doubt.answer
    return {
        "id": answer.id,
        "kind": answer.question.kind,
        "items": list(map(str, answer.question.ids or ())),
        "answer": _word(answer),
        "annotator": answer.annotator,
        "at": answer.at,
        "p_wrong": doubt.p_wrong,
        "reason": doubt.reason,
        "chain": list(doubt.chain),
        "otherwise": preview,
    }


def _word(answer: Answer) -> str:
    from clew.answers import ANSWER_WORDS

    words = {code: word for word, code in ANSWER_WORDS.get(answer.question.kind, {}).items()}
    return words.get(answer.value, str(answer.value)).replace("_", " ")


def _text(number: int, n: int, doubt: Doubt, preview: Mapping[str, Any] | None) -> str:
    answer = doubt.answer
    names = " and ".join(printable(str(name)) for name in answer.question.ids or ())
    who = printable(answer.annotator) or "somebody"
    lines = [
        f"{number} of {n}: {names}",
        f"    {who} said {_word(answer)}{f' at {answer.at}' if answer.at else ''}; wrong with "
        f"probability {doubt.p_wrong:.2f}  [{answer.id}]",
    ]
    if doubt.reason:
        lines.append(f"    {printable(doubt.reason)}")
    elif doubt.chain:
        lines.append(f"    other answers lead over {', '.join(map(printable, doubt.chain))}")
    if preview is not None:
        lines.append(f"    the other way round, {_moves(preview)}")
    return "\n".join(lines)


def _moves(preview: Mapping[str, Any]) -> str:
    moves = preview["moves"]
    if not moves:
        return "no item would move"
    named = ", ".join(
        f"{printable(str(move['id']))} to group {move['after']}" for move in moves[:MOST_MOVED]
    )
    more = f", and {len(moves) - MOST_MOVED} more" if len(moves) > MOST_MOVED else ""
    against = len(preview.get("contradicts", ()))
    chains = f"; {counted(against, 'chain')} of answers contradict it" if against else ""
    return f"{counted(len(moves), 'item')} would move: {named}{more}{chains}"


def _asked(store: Store, doubt: Doubt, annotator: str) -> bool:
    """Ask what to do; return whether to go on."""
    from clew.answers import Answer, Question

    question = doubt.answer.question
    is_pair = question.kind == "pair"
    keys = {key: word for key, word in KEYS.items() if is_pair or key not in ("s", "d")}
    shown = ", ".join(f"{key or 'Enter'} {word}" for key, word in keys.items())
    while True:
        key = click.prompt(f"    {shown}", default="", show_default=False, err=True).strip().lower()
        if key in keys:
            break
    if key == "t":
        _take_back(store, [doubt.answer.id], annotator)
    elif key in ("s", "d"):
        anew = Question(question.kind, ids=question.ids, origin="imported")
        store.append([Answer(anew, KEYS[key], annotator, source="clew review")])
    return key != "q"


def _take_back(store: Store, ids: Sequence[str], annotator: str) -> None:
    from clew.answers import Retraction

    for each in ids:
        logged = store.entry(each)
        if logged is None or not logged.is_standing:
            what = (
                "there is no answer" if logged is None else "it was taken back before: the answer"
            )
            raise InvalidParameterError(f"{what} {each!r}; clew review --json lists ids")
    store.append([Retraction(each, annotator, source="clew review") for each in ids])
