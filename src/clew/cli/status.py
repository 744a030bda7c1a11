"""``clew status``: what a project holds, and how sure the groups are."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from clew._text import group_title
from clew.cli._projects import PROJECT, project_and_store
from clew.cli._words import counted, printable, sizes_words

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.store import Store

#: Number of answers before which no estimate is shown.
EARLY = 20
#: Number of groups that are named; of more, the smallest and the largest size are said.
MOST_GROUPS = 12


@click.command()
@PROJECT
@click.option("--json", "as_json", is_flag=True, help="Print the status as JSON.")
def status(project: Path | None, as_json: bool) -> None:
    """Say what a project holds, how sure the groups are, and how many questions are left.

    Reads only what is stored, so it is fast, and may be called while people answer.

    \b
    clew status
    clew status --project birds --json
    """  # noqa: D301 - click's mark for lines to keep
    with project_and_store(project) as (opened, store):
        facts = status_of(opened, store)
    click.echo(json.dumps(facts, ensure_ascii=False) if as_json else status_text(facts))


def status_of(project: Project, store: Store) -> dict[str, Any]:
    """Return what is stored about a project, for JSON."""
    from clew.exports import doubts_of

    counts, result, worker = store.counts(), store.result(), store.worker()
    names = {group.id: group.name for group in store.groups()}
    body: Mapping[str, Any] = {} if result is None else result.body
    learned = 0 if result is None else result.revision
    sizes = Counter(group for group in body.get("group_ids", ()) if group >= 0)
    return {
        "name": project.name,
        "folder": str(project.folder),
        "store": store.url,
        "items": counts.n_items,
        "set_aside": counts.n_set_aside,
        "answers": counts.n_answers,
        "edits": counts.n_edits,
        "annotators": dict(counts.by_annotator),
        "revision": None if result is None else result.revision,
        "not_learned": max(0, counts.last_seq - learned),
        "groups": [
            {"id": group, "name": names.get(group, ""), "size": size}
            for group, size in sizes.most_common()
        ],
        "doubtful": len(doubts_of(store, body)) if body else 0,
        "violated": body.get("n_violated"),
        "quality": body.get("quality"),
        "remaining": body.get("remaining"),
        "stop": body.get("stop"),
        "worker": None
        if worker is None
        else {"alive": worker.is_alive, "state": worker.state, "detail": worker.detail},
    }


def status_text(facts: Mapping[str, Any]) -> str:
    """Return the status as words."""
    lines = [f"{printable(facts['name'])}: {counted(facts['items'], 'item')}"]
    if facts["set_aside"]:
        lines[0] += f", {facts['set_aside']:,} of them set aside"
    people = facts["annotators"]
    answers = counted(facts["answers"], "answer")
    by = ", ".join(
        f"{printable(name) or '(no name)'} {n:,}"
        for name, n in sorted(people.items(), key=lambda pair: -pair[1])[:5]
    )
    more = f", and {len(people) - 5:,} others" if len(people) > 5 else ""
    edits = f"; {counted(facts['edits'], 'edit')}" if facts["edits"] else ""
    lines.append(f"answers: {answers}{f' ({by}{more})' if people else ''}{edits}")
    lines += _groups(facts)
    if facts["not_learned"]:
        entries = counted(facts["not_learned"], "entry").replace("entrys", "entries")
        lines.append(
            f"not learned yet: {entries}; clew group, clew worker or clew serve learns them"
        )
    worker = facts["worker"]
    if worker is not None and worker["alive"]:
        lines.append(f"worker: {worker['detail'] or worker['state']}")
    return "\n".join(lines)


def _groups(facts: Mapping[str, Any]) -> list[str]:
    if facts["revision"] is None:
        return ["groups: none yet; clew group makes them"]
    groups = facts["groups"]
    titles = [
        f"{printable(group_title(one['id'], one['name']))} {one['size']:,}"
        for one in groups
        if one["name"] or len(groups) <= MOST_GROUPS
    ][:MOST_GROUPS]
    sizes = [one["size"] for one in groups]
    of = f" of {sizes_words(sizes, 'item')}" if len(groups) > MOST_GROUPS else ""
    lines = [f"groups: {len(groups):,}{of}{': ' * bool(titles)}{', '.join(titles)}"]
    if facts["answers"] < EARLY:
        return [*lines, "too early to say how sure the groups are: 20 answers are needed"]
    if facts["doubtful"]:
        n = counted(facts["doubtful"], "answer")
        lines.append(f"doubtful: {n}; clew review shows what each change would do")
    quality = facts["quality"] or {}
    if quality.get("jaccard"):
        value, low, high = quality["jaccard"]
        n = counted(quality.get("n_checks") or 0, "check")
        lines.append(f"agreement with people: {value:.2f} ({low:.2f} to {high:.2f}), from {n}")
    left = facts["remaining"] or {}
    if left.get("median") is not None:
        lines.append(
            f"questions left: about {left['median']:,.0f} "
            f"({left['low']:,.0f} to {left['high']:,.0f})"
        )
    stop = facts["stop"] or {}
    if stop.get("is_enough"):
        lines.append(f"this is enough: {stop.get('reason', '')}".rstrip(": "))
    return lines
