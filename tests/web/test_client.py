"""A project from a program, and the questions of a session in a notebook."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clew
from clew.answers import Edit
from clew.exceptions import ClewError, InvalidConstraintsError
from clew.oracles import SimulatedOracle
from clew.store.base import Suggestion


def test_a_client_has_the_verbs_of_a_session(make_site: Any) -> None:
    """Ask, tell, undo, edit, result; what is refused is an error with its sentence."""
    site = make_site(result=True)
    site.session("Ann", "owner")
    token = site.store.make_token("api", annotator="Ann", role="owner")
    with clew.Client(site.url, token) as client:
        first, second = client.ask(2)
        assert client.tell(first, "same", ms=900) == "stored"
        assert client.tell(first, "same") == "duplicate"
        assert client.tell(second, "dont_know") == "stored"
        assert client.undo()
        assert [one.value for one in site.standing()] == [1]
        edit = client.edit(Edit("set_aside", [site.ids[0]]))
        client.take_back(edit)
        assert client.result()["revision"] == 0
        assert client.status()["n_answers"] == 1
        with pytest.raises(InvalidConstraintsError, match="was not asked"):
            client.tell(clew.Question("pair", ids=("a", "b")), "same")
    with pytest.raises(ClewError, match="session has ended"):
        clew.Client(site.url, "wrong").status()


def test_a_client_is_told_the_examples_of_a_question(make_site: Any) -> None:
    """They come with the question, and go into the log with its answer."""
    site = make_site(result=True)
    first, second, *examples = site.ids[:5]
    question = clew.Question("pair", ids=(first, second), examples=examples)
    site.store.replace_pool([Suggestion(question)])
    site.session("Ann", "owner")
    token = site.store.make_token("api", annotator="Ann", role="owner")
    with clew.Client(site.url, token) as client:
        (asked,) = client.ask()
        assert asked.examples == tuple(examples)
        client.tell(asked, "same")
    (answer,) = site.standing()
    assert answer.question.examples == tuple(examples)


def test_a_client_says_that_there_is_no_server() -> None:
    """A server that is not there is an error of clew."""
    with pytest.raises(ClewError, match="cannot be reached"):
        clew.Client("http://127.0.0.1:9", "x", timeout=2).status()


@pytest.mark.slow
def test_a_widget_asks_the_questions_of_a_session() -> None:
    """Messages as the browser sends them: lease, answer, undo, and the same question again."""
    pytest.importorskip("anywidget")
    from clew.web.widget import _Asker

    rng = np.random.default_rng(0)
    X = np.r_[rng.normal(0, 1, (20, 2)), rng.normal(8, 1, (20, 2))]
    session = clew.Session(X, random_state=0).run(SimulatedOracle(np.repeat([0, 1], 20)), 20)
    images = {i: rng.random((8, 8)) for i in range(40)}
    asker = _Asker(session, images, "ann")
    held = asker.handle({"verb": "lease", "count": 2, "n": 1})["questions"]
    assert held[0]["items"][0]["url"].startswith("data:image/png;base64,")
    shown = [one["url"] for one in held[0]["examples"]]
    assert len(shown) == 3
    assert all(url.startswith("data:image/png;base64,") for url in shown)
    one = {"submission_id": "a" * 32, "question_id": held[0]["question_id"], "answer": "same"}
    reply = asker.handle({"verb": "send", "count": 2, "n": 2, "answers": [one]})
    assert reply["n_answered"] == 21
    undo = {"submission_id": "b" * 32, "revokes": "a" * 32}
    again = {"submission_id": "c" * 32, "question_id": f"@{'a' * 32}", "answer": "different"}
    asker.handle({"verb": "send", "count": 2, "n": 3, "answers": [undo, again]})
    *_, answer = session.answers
    assert len(session.answers) == 21
    assert answer.value == 0
    assert clew.widget(session, images, annotator="ann").height == 620
