"""People who answer: one by keys in Chromium, and twenty at once."""

import json
import re
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np

from benchmarks.app._served import Served, page_of, pictures_in, serving, wait_until
from clew.answers import Answer, new_id
from clew.datasets import load_pictures

#: Share of answers that are wrong.
ERROR = 0.07
#: Seconds between two answers of one of the twenty, on average.
PACE = 2.0
#: Media of a question, and when it was painted.
PAINTED = "document.addEventListener('painted', () => { window.nPainted = (window.nPainted ?? 0) + 1; }, true)"  # noqa: E501


class Asked(NamedTuple):
    """What one person in Chromium waited for, in milliseconds, and how old questions were."""

    next: list[float]
    saved: list[float]
    stale: list[int]
    n_repeats: int
    memory: float


def kinds_of_pictures() -> dict[str, int]:
    pictures = load_pictures()
    return dict(zip(pictures.ids, pictures.y.tolist(), strict=True))


def by_keys(browser: Any, folder: Path, *, n: int, latency: float, pace: float) -> Asked:
    """Answer `n` questions about pictures by keys, with a round trip of `latency` milliseconds."""
    truth, rng = kinds_of_pictures(), np.random.default_rng(0)
    with serving(pictures_in(folder)) as served:
        page = page_of(browser, served)
        page.add_init_script(PAINTED)
        with served.project.open_store() as store:
            store.set_settings({"kinds": ["pair"]})
            wait_until(lambda: store.result() is not None, 300, "the first result")
        network = page.context.new_cdp_session(page)
        network.send("Network.enable")
        unlimited = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        network.send("Network.emulateNetworkConditions", unlimited | {"latency": latency})
        page.goto(f"{served.url}/ask")
        for at in range(n):
            page.wait_for_function("n => window.nPainted > n", arg=at)
            page.wait_for_timeout(220 + 1000 * rng.exponential(max(pace - 0.22, 0)))
            urls = page.eval_on_selector_all(".shot img", "all => all.map(one => one.currentSrc)")
            i, j = (re.search(r"media/([^?]+)", url)[1] for url in urls)  # type: ignore[index]
            is_same = (truth[i] == truth[j]) != (rng.random() < ERROR)
            page.keyboard.press("1" if is_same else "2")
        with served.project.open_store() as store:
            wait_until(lambda: store.counts().n_answers == n, 20, "saving")
        measured = page.evaluate("document.getElementById('ask').measured")
        page.context.close()
        stale, n_repeats = staleness(served)
        return Asked(measured["next"], measured["saved"], stale, n_repeats, served.memory())


def staleness(served: Served) -> tuple[list[int], int]:
    """Return how many entries came between the choice of a question and its answer.

    Repeats and the first questions, which are drawn before there is a model, are chosen by nobody.
    """
    with closing(sqlite3.connect(served.project.folder / "clew.db")) as database:
        leases = database.execute("SELECT body, revision FROM leases WHERE state = 'answered'")
        revisions = {frozenset(json.loads(body)["items"]): revision for body, revision in leases}
    stale, n_repeats = [], 0
    with served.project.open_store() as store:
        for logged in store.log():
            entry = logged.entry
            if not isinstance(entry, Answer) or entry.question.origin == "imported":
                continue
            if entry.question.repeat:
                n_repeats += 1
                continue
            stale.append(logged.seq - 1 - revisions[frozenset(entry.question.ids or ())])
    return stale, n_repeats


class Crowd(NamedTuple):
    """What many people waited for, in milliseconds, and what became of their answers."""

    waits: list[float]
    n_given: int
    n_lost: int
    n_twice: int
    memory: float


def crowd(folder: Path, *, n_people: int, n_each: int) -> Crowd:
    """Let people answer at the same time, each every `PACE` seconds, over HTTP."""
    truth = kinds_of_pictures()
    with serving(pictures_in(folder)) as served:
        with served.project.open_store() as store:
            store.set_settings({"kinds": ["pair"]})
            wait_until(lambda: store.result() is not None, 300, "the first result")
        waits: list[float] = []
        given: list[str] = []

        def person(number: int) -> None:
            rng = np.random.default_rng(number)
            cookies = {"clew_session": served.secret(f"person {number}")}
            with httpx.Client(base_url=f"{served.url}/api/v1", cookies=cookies, timeout=60) as http:
                held = http.post("/questions:lease", json={"n": 4}).json()["questions"]
                for _ in range(n_each):
                    time.sleep(rng.exponential(PACE))
                    if not held:
                        held = http.post("/questions:lease", json={"n": 4}).json()["questions"]
                        continue
                    question = held.pop(0)
                    i, j = (item["id"] for item in question["items"])
                    is_same = (truth[i] == truth[j]) != (rng.random() < ERROR)
                    answer = {
                        "submission_id": new_id(), "question_id": question["question_id"],
                        "answer": "same" if is_same else "different",
                    }  # fmt: skip
                    have = [one["question_id"] for one in held]
                    began = time.perf_counter()
                    reply = http.post("/answers", json={"answers": [answer], "n": 4, "have": have})
                    waits.append(1000 * (time.perf_counter() - began))
                    body = reply.raise_for_status().json()
                    if body["results"][0]["status"] == "stored":
                        given.append(answer["submission_id"])
                    kept = set(body["held"])
                    held = [one for one in held if one["question_id"] in kept] + body["questions"]

        threads = [threading.Thread(target=person, args=(at,)) for at in range(n_people)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with served.project.open_store() as store:
            ids = [logged.entry.id for logged in store.log()]
        return Crowd(
            waits, len(given), len(set(given) - set(ids)), len(ids) - len(set(ids)),
            served.memory(),
        )  # fmt: skip
