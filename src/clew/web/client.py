"""A served project from a program: the verbs of a session over HTTP."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, Self

from clew.answers import Answer, Edit, Kind, Question, entry_to_json, new_id
from clew.exceptions import ClewError, InvalidConstraintsError

__all__ = ["Client"]


class Client:
    """Asks and answers in a project that `clew serve` serves.

    Parameters
    ----------
    url : str
        Where it is served, such as ``"http://127.0.0.1:8765"``.
    token : str
        A program's token, as the page "People and links" makes it.
    timeout : float, default=30.0
        Seconds to wait for a reply.

    Raises
    ------
    ClewError
        By every method, if the server refuses; the sentence says why.

    Notes
    -----
    A reply 429 or 503 is waited for as long as it says, and asked again: answers have ids, so that
    none is stored twice.

    Examples
    --------
    >>> import clew
    >>> client = clew.Client("http://127.0.0.1:8765", token)  # doctest: +SKIP
    >>> (question,) = client.ask()  # doctest: +SKIP
    >>> client.tell(question, "same")  # doctest: +SKIP
    """

    def __init__(self, url: str, token: str, *, timeout: float = 30.0) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._tokens: dict[Question, str] = {}
        self._given: list[str] = []

    def ask(self, n: int = 1, *, kinds: Sequence[Kind] | None = None) -> list[Question]:
        """Return questions for whoever the token belongs to.

        Parameters
        ----------
        n : int, default=1
            Number of questions that the person is to have, with those that are held.
        kinds : sequence of str, default=None
            Kinds of questions. None: those of the project.

        Returns
        -------
        list of Question
            With ids; fewer than `n` if there is nothing more to ask.
        """
        body = {"n": n, "kinds": list(kinds) if kinds else None}
        found = []
        for one in self._send("POST", "questions:lease", body)["questions"]:
            ids = tuple(item["id"] for item in one["items"])
            examples = tuple(item["id"] for item in one["examples"])
            parts = tuple(one["parts"])
            question = Question(one["kind"], ids=ids, parts=parts, examples=examples)
            self._tokens[question] = one["question_id"]
            found.append(question)
        return found

    def tell(self, question: Question, answer: str | int, *, ms: int | None = None) -> str:
        """Answer a question.

        Parameters
        ----------
        question : Question
            A question of `ask`.
        answer : str or int
            The answer, as a code or a word of `clew.answers`.
        ms : int, default=None
            Milliseconds that it took.

        Returns
        -------
        str
            "stored", "duplicate", "superseded" or "expired": all but the second are new in the log.

        Raises
        ------
        InvalidConstraintsError
            If the question is not one of `ask`, or the answer does not belong to its kind.
        """
        token = self._tokens.get(question)
        if token is None:
            raise InvalidConstraintsError(
                f"{question!r} was not asked by this client; tell answers questions of ask"
            )
        line = json.loads(entry_to_json(Answer(question, answer, id=new_id())))
        given = {
            "submission_id": line["id"],
            "question_id": token,
            "answer": line["answer"],
            "ms": ms,
            "bad": line.get("bad", []),
        }
        (result,) = self._send("POST", "answers", {"answers": [given]})["results"]
        if result["status"] in ("refused", "conflict"):
            raise InvalidConstraintsError(result["detail"] or "the answer was refused")
        self._given.append(line["id"])
        return str(result["status"])

    def undo(self) -> bool:
        """Take the last answer of this client back; return whether there was one.

        Returns
        -------
        bool
            False if this client has given no answer that stands.
        """
        if not self._given:
            return False
        self._send("DELETE", f"answers/{self._given.pop()}")
        return True

    def edit(self, edit: Edit) -> str:
        """Apply an edit of groups; return its id, by which it is taken back.

        Parameters
        ----------
        edit : Edit
            The edit, about ids of items.

        Returns
        -------
        str
        """
        return str(self._send("POST", "edits", self._edit_body(edit))["id"])

    def preview(self, edit: Edit) -> dict[str, Any]:
        """Say what an edit would move and contradict; wait for the worker.

        Parameters
        ----------
        edit : Edit
            The edit, about ids of items.

        Returns
        -------
        dict
            Fields of `clew.session.Preview`, as JSON.
        """
        reply = self._send("POST", "edits", {**self._edit_body(edit), "preview": True})
        while reply["status"] in ("waiting", "running"):
            time.sleep(0.2)
            reply = self._send("GET", f"jobs/{reply['job']}")
        if reply["status"] == "failed":
            raise ClewError(str(reply["error"]))
        found: dict[str, Any] = reply["result"]
        return found

    def set_aside(self, ids: Iterable[Hashable], *, note: str = "") -> str:
        """Set items aside: they are in no group, and nobody is asked about them.

        Parameters
        ----------
        ids : iterable of hashable
            Ids of items.
        note : str, default=""
            Why.

        Returns
        -------
        str
            The id of the edit, by which it is taken back.
        """
        return self.edit(Edit("set_aside", tuple(ids), note=note))

    def restore_items(self, ids: Iterable[Hashable]) -> None:
        """Take items back that were set aside.

        Parameters
        ----------
        ids : iterable of hashable
            Ids of items; those that are not set aside are ignored.
        """
        self._send("POST", "items:restore", {"items": [str(one) for one in ids]})

    def take_back(self, entry: str) -> None:
        """Take an answer or an edit back.

        Parameters
        ----------
        entry : str
            Its id.
        """
        self._send("DELETE", f"answers/{urllib.parse.quote(entry, safe='')}")

    def result(self) -> dict[str, Any]:
        """Return the newest result.

        Returns
        -------
        dict
            `SessionResult.to_dict()`, as the worker published it.
        """
        found: dict[str, Any] = self._send("GET", "result")
        return found

    def status(self) -> dict[str, Any]:
        """Return numbers of items, answers and groups, and what the worker does.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = self._send("GET", "status")
        return found

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Give the questions back that were not answered."""
        self._send("POST", "questions:release", {"tokens": list(self._tokens.values())[:200]})

    @staticmethod
    def _edit_body(edit: Edit) -> dict[str, Any]:
        items, target = list(map(str, edit.items)), list(map(str, edit.target))
        return {"kind": edit.kind, "items": items, "target": target, "note": edit.note}

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        content = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}", content, headers, method=method
        )
        for _ in range(5):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as reply:
                    return json.loads(reply.read() or b"null")
            except urllib.error.HTTPError as error:
                wait = error.headers.get("Retry-After", "")
                if error.code in (429, 503) and wait.isdigit():
                    time.sleep(min(10, int(wait)))
                    continue
                raise ClewError(_detail(error)) from error
            except urllib.error.URLError as error:
                raise ClewError(f"{self.url} cannot be reached: {error.reason}") from error
        raise ClewError(f"{self.url} is busy; try again later")


def _detail(error: urllib.error.HTTPError) -> str:
    try:
        return str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError):
        return f"{error.code} {error.reason}"
