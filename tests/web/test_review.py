"""Doubtful answers: what the worker publishes of them, and what reviewers do about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import httpx
import pytest

from clew._limits import LEAST_CHECKS
from clew.answers import DONT_KNOW, Answer, Edit, Question, Retraction, new_id, now
from clew.store.base import Logged
from clew.web.api import edits
from clew.web.pages.drawing import said
from clew.web.pages.review import _of_pair
from clew.worker import Worker


def pair_of(ids: list[str], i: int, j: int) -> Question:
    """Return a question about two items."""
    return Question("pair", ids=tuple(sorted((ids[i], ids[j]))))


@pytest.fixture
def doubted(make_site: Any) -> tuple[Any, Answer]:
    """A project whose worker has learned answers of which one cannot be right; and that one."""
    site = make_site()
    entries = []
    for i in range(0, 12, 3):
        for j in range(0, 12, 3):
            for who in ("Bo", "Cy"):
                if i < j:
                    pair = pair_of(site.ids, i, j)
                    entries.append(Answer(pair, 1, who, id=new_id(), at=now(), origin="asked"))
    entries += [
        Answer(pair_of(site.ids, i, j), 0, "Bo", id=new_id(), at=now(), origin="asked")
        for i in range(0, 12, 3)
        for j in (1, 2, 4, 5)
    ]
    wrong = replace(entries[0], value=0, annotator="Dee", id=new_id(), ms=312)
    site.store.append([*entries, wrong])
    Worker(site.store).run(until_rest=True)
    return site, wrong


@pytest.fixture
def client() -> Iterator[Callable[..., httpx.Client]]:
    """Make clients of people."""
    with ExitStack() as stack:

        def make(site: Any, name: str = "Ann", role: str = "owner") -> httpx.Client:
            cookies = {"clew_session": site.session(name, role)}
            return stack.enter_context(httpx.Client(base_url=site.url, cookies=cookies, timeout=30))

        yield make


@pytest.mark.slow
def test_what_a_worker_doubts_is_reviewed(doubted: Any, client: Any) -> None:
    """The page shows who gave the doubtful answer and how fast, and the answers it contradicts."""
    site, wrong = doubted
    page = client(site).get("/review").text
    assert wrong.id in page
    assert "Dee" in page and "0.3 s" in page and "Bo" in page  # noqa: PT018
    assert "Dee’s answer is taken back, and yours counts: same." in page
    refused = client(site, "Eve", "annotator").get("/review", headers={"accept": "text/html"})
    assert refused.status_code == 404
    assert refused.text.count("nothing here") == 1
    unknown = client(site).get("/nowhere", headers={"accept": "text/html"}).text
    assert "Page not found" in unknown
    assert "Not Found" not in unknown


@pytest.mark.slow
def test_errors_of_people_wait_for_20_answers(make_site: Any, client: Any) -> None:
    """Before, they would be what is assumed of everybody."""
    site = make_site(result=True)
    pairs = [pair_of(site.ids, i, j) for i in range(6) for j in range(i + 1, 8)][:20]
    entries = [Answer(pair, 1, "Ann", id=new_id(), at=now()) for pair in pairs]
    site.store.append(entries[:-1])
    people = [{"name": "Ann", "n": 19, "error": [0.08, 0.0, 0.25]}]
    body = dict(site.store.result().body) | {"annotators": people}
    site.store.publish(site.store.last_seq(), body)
    ann = client(site)
    assert "(0–25)" not in ann.get("/progress").text
    site.store.append(entries[-1:])
    assert "(0–25)" in ann.get("/progress").text


@pytest.mark.slow
def test_a_group_of_which_nothing_can_be_said_has_no_quality(make_site: Any, client: Any) -> None:
    """An interval from 0 to 100 is of no use; a narrow one is shown."""
    site = make_site(result=True)
    body = dict(site.store.result().body)
    wide, narrow = [1.0, 0.0, 1.0], [0.9, 0.8, 1.0]
    groups = {
        "0": {"precision": wide, "recall": wide},
        "1": {"precision": narrow, "recall": [0.75, 0.53, 0.97]},
        "2": {"precision": wide, "recall": [0.85, 0.71, 0.99]},
    }
    site.store.publish(1, body | {"quality": body["quality"] | {"groups": groups}})
    ann = client(site)
    page = ann.get("/progress").text
    assert "(0–100)" not in page
    assert all(shown in page for shown in ("(80–100)", "(53–97)", "(71–99)"))
    assert "Of pairs in it 90 (80–100) % are right" in ann.get("/groups/1").text
    assert "(0–100)" not in ann.get("/groups/0").text
    groups["1"] = groups["2"] = groups["0"]
    site.store.publish(2, body | {"quality": body["quality"] | {"groups": groups}})
    assert "Too early to say of any group" in ann.get("/progress").text


def test_an_edit_is_previewed_as_that_of_the_person(
    make_site: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How much it counts depends on who makes it; the worker is told."""
    monkeypatch.setattr(edits, "PREVIEW_SECONDS", 0.0)
    site = make_site(result=True)
    body = {"kind": "move", "items": site.ids[:1], "target": site.ids[1:2], "preview": True}
    asked = client(site).post("/api/v1/edits", json=body).json()
    job = site.store.job(asked["job"])
    assert job.arguments["annotator"] == "Ann"


@pytest.mark.slow
def test_fixes_are_previewed_and_applied(
    doubted: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A preview changes nothing; the opposite takes the answer back and adds one."""
    site, wrong = doubted
    monkeypatch.setattr("clew.web.api.edits.PREVIEW_SECONDS", 0)
    ann, before = client(site), site.store.last_seq()
    body = {"entry": wrong.id, "fix": "opposite", "preview": True}
    reply = ann.post("/api/v1/review", json=body).json()
    Worker(site.store).run(until_rest=True)
    reply = ann.get(f"/api/v1/jobs/{reply['job']}").json()
    assert reply["result"]["moves"] == []
    assert site.store.last_seq() == before
    assert ann.post("/api/v1/review", json=body | {"preview": False}).status_code == 200
    assert wrong.id not in {one.id for one in site.standing()}
    assert {one.value for one in site.standing() if one.question == wrong.question} == {1}


@pytest.mark.slow
def test_all_that_may_happen_to_a_doubtful_answer(doubted: Any, client: Any) -> None:
    """Kept, it stands beside another one; set aside with its items, it does not."""
    site, wrong = doubted
    ann = client(site)

    def fixed(name: str) -> int:
        return ann.post("/api/v1/review", json={"entry": wrong.id, "fix": name}).status_code

    assert fixed("same") == 200
    said = [one.value for one in site.standing() if one.question == wrong.question]
    assert sorted(said) == [0, 0, 1, 1]
    assert fixed("aside") == 200
    assert wrong.id not in {one.id for one in site.standing()}
    aside = {item.id for item in site.store.items() if item.set_aside is not None}
    assert aside == set(wrong.question.ids)


@pytest.mark.slow
def test_somebody_else_is_asked(doubted: Any, client: Any) -> None:
    """The question is their next one; whoever answered it is not asked again."""
    site, wrong = doubted
    ann, eve = client(site), client(site, "Eve", "annotator")
    body = {"entry": wrong.id, "fix": "ask", "who": "Eve"}
    assert ann.post("/api/v1/review", json=body | {"who": "Dee"}).status_code == 422
    assert ann.post("/api/v1/review", json=body | {"who": "Zoe"}).status_code == 404
    assert ann.post("/api/v1/review", json=body).json() == {"statuses": ["asked"]}
    assert ann.post("/api/v1/review", json=body).json() == {"statuses": ["duplicate"]}
    assert "Eve" in ann.get("/review").text
    first = eve.post("/api/v1/questions:lease", json={"n": 2}).json()["questions"][0]
    assert {one["id"] for one in first["items"]} == set(wrong.question.ids or ())
    given = {"submission_id": new_id(), "question_id": first["question_id"], "answer": "same"}
    eve.post("/api/v1/answers", json={"answers": [given]})
    assert site.store.wanted() == []
    assert ann.post("/api/v1/review", json=body).json() == {"statuses": ["duplicate"]}


@pytest.mark.slow
def test_what_was_set_aside_comes_back_alone(site: Any, client: Any) -> None:
    """One item of three is brought back; the edit of the two others stands."""
    ann = client(site)
    three = site.ids[:3]
    ann.post("/api/v1/edits", json={"kind": "set_aside", "items": three})
    reply = ann.post("/api/v1/items:restore", json={"items": three[:1]}).json()
    assert set(reply["statuses"]) == {"stored"}
    aside = [item.id for item in site.store.items() if item.set_aside is not None]
    assert aside == three[1:]


@pytest.mark.slow
def test_notes_and_flags_are_read_by_reviewers(site: Any, client: Any) -> None:
    """A list of the answers that somebody wrote about; not for those who only answer."""
    pair = Question("pair", ids=tuple(sorted(site.ids[:2])))
    site.store.append([Answer(pair, 1, "Bo", id=new_id(), at=now(), note="Is it a bee?")])
    assert "Is it a bee?" in client(site).get("/history?show=notes").text
    assert client(site, "Bo", "annotator").get("/history?show=notes").status_code == 404


@pytest.mark.slow
def test_an_imported_answer_names_its_line(site: Any, client: Any) -> None:
    """Not the day of the import, on which nobody answered."""
    pair = pair_of(site.ids, 0, 1)
    source = "clew import answers.csv, line 12"
    given = Answer(pair, 1, "Bo", id=new_id(), at="2026-03-01T10:05:00.000Z", source=source)
    site.store.append([given])
    body = dict(site.store.result().body)
    doubt = {
        "id": given.id,
        "edit": "",
        "p_wrong": 0.999,
        "reason": "",
        "chain": [],
        "chain_answers": [],
    }
    site.store.publish(site.store.last_seq(), body | {"doubtful": [doubt]})
    review, history = (client(site).get(path).text for path in ("/review", "/history?show=all"))
    for page in (review, history):
        assert "answers.csv, line 12" in page
        assert "1 Mar" not in page
    assert "99 %" in review  # never 100
    assert "100 %" not in review


def test_progress_says_how_many_checks_are_needed(site: Any, client: Any) -> None:
    """Before the first estimate; then the estimate is there instead."""
    body, ann = dict(site.store.result().body), client(site)
    words = f"1 of {LEAST_CHECKS} random checks so far"
    site.store.publish(0, body | {"quality": None, "n_checks": 1})
    assert words in ann.get("/progress").text
    site.store.publish(0, body | {"n_checks": LEAST_CHECKS})
    page = ann.get("/progress").text
    assert "random checks so far" not in page
    assert f"from {LEAST_CHECKS} random checks" in page


@pytest.mark.parametrize("kind", ["merge", "split", "move", "lock", "not_in", "set_aside"])
def test_edits_have_words(site: Any, kind: str) -> None:
    """Each kind of edit is said in words."""
    target = () if kind in ("lock", "set_aside") else site.ids[2:3]
    edit = Edit(kind, site.ids[:2], target, "Ann", id=new_id(), at=now())  # type: ignore[arg-type]
    assert said(Logged(1, edit)).endswith(": 2 items")


@pytest.mark.parametrize(
    ("question", "value", "words"),
    [
        (Question("triplet", ids=("a", "b", "c")), 1, "1 is closer to 3"),
        (Question("odd_one_out", ids=("a", "b", "c")), 2, "3 is the odd one out"),
        (Question("odd_one_out", ids=("a", "b", "c")), -1, "all alike"),
        (Question("which_of", ids=("a", "b", "c", "d"), parts=(1, 1, 2)), 1, "group on card 2"),
    ],
)
def test_answers_have_words_without_the_names_that_people_do_not_see(
    question: Question, value: int, words: str
) -> None:
    assert said(Logged(1, Answer(question, value, "Ann", id=new_id(), at=now()))) == words


@pytest.mark.slow
def test_dont_knows_tell_nothing_of_the_error_of_people(doubted: Any, client: Any) -> None:
    site, _ = doubted

    def errors() -> list[str]:
        rows = re.findall(r"<tr>(.*?)</tr>", client(site).get("/progress").text, re.DOTALL)
        of_bo = [row for row in rows if 'data-leave-out="Bo"' in row]
        return [re.findall(r'"num">([^<]*)<', row)[2] for row in of_bo]

    (shown,) = errors()
    assert "%" in shown
    standing = [each.entry for each in site.store.log(only_standing=True)]
    drop = [Retraction(each.id, each.annotator, id=new_id(), at=now()) for each in standing[18:]]
    unsure = [
        Answer(pair_of(site.ids, i, i + 1), DONT_KNOW, "Bo", id=new_id(), at=now(), origin="asked")
        for i in range(4)
    ]
    site.store.append([*drop, *unsure])
    assert site.store.counts().n_answers == 22
    assert errors() == ["–"]


def test_an_item_may_have_the_name_of_a_text() -> None:
    question = Question("odd_one_out", ids=("same", "which_of", "strangers"))
    for value, words in enumerate(("1 is", "2 is", "3 is")):
        assert said(Logged(1, Answer(question, value, "Ann", id=new_id(), at=now()))).startswith(
            words
        )


def test_a_link_of_a_chain_says_what_its_answer_says_of_these_two() -> None:
    picked = Answer(Question("which_of", ids=("a", "b", "c", "d"), parts=(1, 1, 2)), 1, "Ann")
    logged = Logged(1, picked)
    assert _of_pair(logged, "c", "a") == {"is_same": True, "said": "same"}
    assert _of_pair(logged, "a", "b") == {"is_same": False, "said": "different"}
    assert _of_pair(logged, "x", "b") == {}
    assert _of_pair(Logged(1, Edit("merge", ("a", "b"), ("c",), "Ann")), "a", "b") == {}
