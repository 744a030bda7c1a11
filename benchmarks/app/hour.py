"""An hour of two people who err, while the app is killed and started again at random."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from benchmarks.app._served import Served, pictures_in, serving, wait_until
from clew.answers import Answer, Question, SecondsModel, entry_from_json, entry_to_json, new_id
from clew.datasets import load_pictures
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle

#: Shares of wrong answers of the two.
ERRORS = {"Ann": 0.05, "Ben": 0.1}
#: The script waits a tenth of what people would need.
FASTER = 10.0
#: Answers between two deaths, on average; one in two is the worker's.
LIFE = 80.0


class Hour(NamedTuple):
    n_given: int
    n_exported: int
    n_lost: int
    n_twice: int
    n_wrong: int
    n_kills: dict[str, int]
    jaccard: float
    interval: tuple[float, float]
    first_95: int | None
    covered: list[bool]
    minutes: float


class Browser:
    """One person's side: what the asking page does, without a page.

    An answer stays in the outbox until the server has said that it is stored.
    """

    def __init__(self, served: Served, name: str, oracle: SimulatedOracle, ids: list[str]) -> None:
        self.name = name
        self.outbox: list[dict[str, Any]] = []
        self.held: list[dict[str, Any]] = []
        self.given: dict[str, Any] = {}
        self._served, self._oracle, self._ids = served, oracle, ids
        self._cookies = {"clew_session": served.secret(name)}

    def answer(self) -> float:
        """Answer the next question, if there is one; return the seconds that a person needs."""
        seconds = 0.0
        if self.held:
            question = self.held.pop(0)
            rows = tuple(self._ids.index(item["id"]) for item in question["items"])
            asked = Question(question["kind"], rows, parts=tuple(question["parts"]))
            given = self._oracle.answer(asked, self.name)
            named = Question(
                asked.kind, ids=tuple(self._ids[row] for row in rows), parts=asked.parts
            )
            line = json.loads(entry_to_json(Answer(named, given.value, self.name, id=new_id())))
            self.given[line["id"]] = line["answer"]
            assert given.ms is not None
            seconds = given.ms / 1000
            self.outbox.append({
                "submission_id": line["id"], "question_id": question["question_id"],
                "answer": line["answer"], "ms": given.ms,
            })  # fmt: skip
        self.send()
        return seconds

    def send(self) -> None:
        """Send what waits, and ask for further questions; without a server all stays."""
        have = [one["question_id"] for one in self.held]
        body = {"answers": self.outbox, "n": 4, "have": have}
        try:
            reply = httpx.post(
                f"{self._served.url}/api/v1/answers", json=body, cookies=self._cookies, timeout=30
            ).raise_for_status().json()  # fmt: skip
        except httpx.TransportError:
            return
        refused = [one for one in reply["results"] if one["status"] in ("refused", "conflict")]
        assert not refused, refused
        self.outbox = []
        kept = set(reply["held"])
        self.held = [one for one in self.held if one["question_id"] in kept] + reply["questions"]


def label(
    folder: Path, *, minutes: float, faster: float = FASTER, life: float = LIFE, seed: int = 0
) -> Hour:
    """Label the pictures for so many minutes of a person; kill and restart meanwhile."""
    pictures, rng = load_pictures(), np.random.default_rng(seed)
    ids, y = pictures.ids, pictures.y
    oracle = SimulatedOracle(
        y, error=list(ERRORS.values()), annotators=list(ERRORS), seconds=SecondsModel(),
        missed_together=0.5, random_state=seed,
    )  # fmt: skip
    n_kills = {"app": 0, "worker": 0}
    covered: list[bool] = []
    first_95, busy, revision = None, 0.0, -1

    with serving(pictures_in(folder)) as served:
        people = [Browser(served, name, oracle, ids) for name in ERRORS]
        owner = {"clew_session": served.secret("Owner", "owner")}
        next_death = rng.exponential(life)
        n_given = 0
        while busy < 60 * minutes:
            person = people[int(rng.integers(len(people)))]
            seconds = person.answer()
            if not seconds:
                time.sleep(0.1)
                continue
            busy += seconds
            n_given += 1
            time.sleep(seconds / faster)
            if n_given >= next_death:
                next_death = n_given + rng.exponential(life)
                is_worker = bool(rng.integers(2))
                n_kills["worker" if is_worker else "app"] += 1
                busy += _kill(served, people, is_worker=is_worker)
            if n_given % 10 == 0:
                with served.project.open_store() as store:
                    result = store.result()
                if result is not None and result.revision > revision:
                    revision = result.revision
                    true, interval = _scores(result.body, ids, y)
                    if first_95 is None and true >= 0.95:
                        first_95 = n_given
                    if interval is not None:
                        covered.append(interval[0] <= true <= interval[1])
        for one in people:
            wait_until(lambda one=one: one.send() or not one.outbox, 30, "sending")
        with served.project.open_store() as store:
            last = store.last_seq()
            wait_until(lambda: (store.result_revision() or -1) >= last, 300, "learning")
            result = store.result()
        assert result is not None
        text = httpx.get(f"{served.url}/api/v1/export/answers", cookies=owner, timeout=60).text
    given = {number: answer for one in people for number, answer in one.given.items()}
    exported = [json.loads(line) for line in text.splitlines()]
    true, interval = _scores(result.body, ids, y)
    by_id = {one["id"]: one["answer"] for one in exported}
    n_wrong = sum(_is_wrong(entry_from_json(one), ids, y) for one in exported)
    return Hour(
        len(given), len(exported), sum(by_id.get(one) != said for one, said in given.items()),
        len(exported) - len(by_id), n_wrong, n_kills, true, interval or (0.0, 1.0), first_95,
        covered, busy / 60,
    )  # fmt: skip


def _kill(served: Served, people: Sequence[Browser], *, is_worker: bool) -> float:
    """Kill a process; people who do not notice at once answer on. Return their seconds."""
    served.kill(worker=is_worker)
    if is_worker:
        return 0.0
    seconds = sum(one.answer() for one in people)
    served.start()
    return seconds


def _scores(body: Any, ids: list[str], y: Any) -> tuple[float, tuple[float, float] | None]:
    """Return the true Jaccard index of pairs, and the interval that the app shows."""
    groups = dict(zip(body["ids"], body["labels"], strict=True))
    true = jaccard_score_pairs(y, [groups[one] for one in ids])
    jaccard = (body.get("quality") or {}).get("jaccard")
    return true, None if not jaccard or jaccard[1] is None else (jaccard[1], jaccard[2])


def _is_wrong(entry: Any, ids: list[str], y: Any) -> bool:
    """Whether an answer about a pair is wrong."""
    if entry.question.kind != "pair" or entry.value < 0:
        return False
    i, j = (ids.index(one) for one in entry.question.ids)
    return bool(entry.value != int(y[i] == y[j]))


def rows_of(hour: Hour) -> list[tuple[str, str, str]]:
    """Say what came of an hour, in rows of the page."""
    what = f"{hour.minutes:.0f} minutes of two people, {hour.n_kills['app']} deaths of the app, {hour.n_kills['worker']} of the worker"  # noqa: E501
    low, high = hour.interval
    reached = "never" if hour.first_95 is None else f"first after {hour.first_95}"
    return [
        (
            f"{what}: Jaccard index of pairs", "≥ .95",
            f"{hour.jaccard:.3f} after {hour.n_given} answers; .95 {reached}",
        ),
        (
            "answers missing in the export, or changed; there twice", "0; 0",
            f"{hour.n_lost}; {hour.n_twice} (of {hour.n_exported}, of which {hour.n_wrong} pairs are wrong)",  # noqa: E501
        ),
        (
            "the interval of quality holds the true index", "at the end",
            f"{low:.3f} to {high:.3f}; also in {np.mean(hour.covered or [False]):.0%} of {len(hour.covered)} results before",  # noqa: E501
        ),
    ]  # fmt: skip
