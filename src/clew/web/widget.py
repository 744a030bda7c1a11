"""Questions of a session in a notebook, asked by the same module as in the app."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew._files import needs
from clew.answers import Answer, Question, Retraction, entry_from_json, new_id, now
from clew.exceptions import ClewError
from clew.web.words import ask_strings

if TYPE_CHECKING:
    from clew.session import Session

__all__ = ["widget"]

HERE = Path(__file__).parent
SOURCE = "clew.widget"
#: Longest side of a picture in a notebook, in pixels.
SIDE = 640


def widget(
    session: Session,
    items: Mapping[Hashable, Any] | None = None,
    *,
    annotator: str = "",
    question: str = "",
    guideline: str = "",
    height: int = 620,
) -> Any:
    """Ask the questions of a session in a notebook.

    Parameters
    ----------
    session : Session
        The session; answers go to it at once.
    items : mapping, default=None
        What people are shown of each id: a text, an image of Pillow, an array of shape (h, w) or
        (h, w, 3), or a mapping of columns. None: the ids.
    annotator : str, default=""
        Who answers.
    question : str, default=""
        Words of the question about pairs. Empty: "Same thing?"
    guideline : str, default=""
        What counts as the same.
    height : int, default=620
        Height in pixels.

    Returns
    -------
    anywidget.AnyWidget
        Shown as the last value of a cell. Keys work while it has the focus.

    Raises
    ------
    MissingDependencyError
        If anywidget is not installed.

    Examples
    --------
    >>> import clew
    >>> clew.widget(session, images, annotator="ann")  # doctest: +SKIP
    """
    with needs("clew.widget needs anywidget: pip install 'clew[notebook]'"):
        import anywidget
        import traitlets

    class AskWidget(anywidget.AnyWidget):  # type: ignore[misc,unused-ignore]
        _esm = "\n".join(
            (HERE / "static" / name).read_text(encoding="utf-8") for name in ("ask.js", "widget.js")
        )
        look = traitlets.Unicode().tag(sync=True)
        sprite = traitlets.Unicode().tag(sync=True)
        strings = traitlets.Dict().tag(sync=True)
        settings = traitlets.Dict().tag(sync=True)
        height = traitlets.Int().tag(sync=True)

    asker = _Asker(session, items or {}, annotator)
    settings = {"question": question, "guideline": guideline, "guideline_short": guideline[:160]}
    shown = AskWidget(
        look=_look(),
        sprite=(HERE / "templates" / "_sprite.html").read_text(encoding="utf-8"),
        strings=ask_strings(),
        settings=settings,
        height=height,
    )

    def answer(_: Any, message: Mapping[str, Any], __: Any) -> None:
        try:
            shown.send({"n": message["n"], "reply": asker.handle(message)})
        except (ClewError, KeyError, ValueError) as error:
            shown.send({"n": message.get("n"), "error": str(error)})

    shown.on_msg(answer)
    return shown


def _look() -> str:
    """Return the style sheets of the app, for a widget in a page of somebody else's."""
    sheets = [
        (HERE / "static" / name).read_text(encoding="utf-8")
        for name in ("tokens.css", "components.css")
    ]
    # What depends on the size of the window there depends on that of the widget here.
    sized = re.sub(r"@media (?=\((?:max|min)-(?:width|height))", "@container ", "\n".join(sheets))
    return sized.replace(":root", ".clew-widget") + (
        ":host { display: block; width: 100%; container-type: size; } "
        ".clew-widget { position: relative; height: 100%; overflow: hidden; "
        "background: var(--ground); color: var(--ink); font: var(--book) 15px/1.5 var(--sans); } "
        ".clew-widget .ask { position: absolute; inset: 0 0 var(--bar-h); } "
        ".clew-widget .bar { position: absolute; }"
    )


class _Asker:
    """Answers the messages of a widget from a session."""

    def __init__(self, session: Session, items: Mapping[Hashable, Any], annotator: str) -> None:
        self._session, self._items, self._annotator = session, items, annotator
        self._held: dict[str, Question] = {}

    def handle(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reply to a message."""
        if message["verb"] == "send":
            for given in message["answers"]:
                self._apply(given)
        results = [
            {"submission_id": one["submission_id"], "status": "stored"}
            for one in message.get("answers", ())
        ]
        questions = self._session.ask(
            max(1, int(message["count"])), annotator=self._annotator, held=self._held.values()
        )
        new = [one for one in questions if one not in self._held.values()]
        for one in new:
            self._held[new_id()] = one
        fresh = {token: one for token, one in self._held.items() if one in new}
        return {
            "results": results,
            "held": list(self._held),
            "questions": [self._question(token, one) for token, one in fresh.items()],
            "n_answered": len(self._session.answers),
            "progress": None,
            "state": "nothing",
        }

    def _apply(self, given: Mapping[str, Any]) -> None:
        number = given["submission_id"].replace("-", "")
        if given.get("revokes"):
            target = given["revokes"]
            self._session.apply([Retraction(target, self._annotator, number, now(), SOURCE)])
            return
        token = given["question_id"]
        question = self._held.pop(token, None) or self._before(token)
        ids = [str(one) for one in question.ids or question.rows]
        entry = entry_from_json(
            {
                "version": 1, "id": number, "kind": question.kind, "items": ids,
                "shown": given.get("order") or ids, "answer": given["answer"],
                "annotator": self._annotator, "ms": given.get("ms"), "time": now(),
                "origin": question.origin, "revokes": None, "source": SOURCE,
                "note": given.get("note", ""), "bad": given.get("bad", []),
                "parts": list(question.parts), "repeat": question.repeat, "check": question.check,
                "examples": [str(one) for one in question.examples],
            }
        )  # fmt: skip
        if isinstance(entry, Answer):
            from dataclasses import replace

            self._session.apply([replace(entry, question=question)])

    def _before(self, token: str) -> Question:
        for entry in self._session.log:
            if isinstance(entry, Answer) and token == f"@{entry.id}":
                return entry.question
        raise KeyError(token)

    def _question(self, token: str, question: Question) -> dict[str, Any]:
        ids: tuple[Hashable, ...] = question.ids or question.rows
        return {
            "question_id": token,
            "kind": question.kind,
            "expires": "2100-01-01",
            "parts": list(question.parts),
            "items": [self._shown(one) for one in ids],
            "examples": [self._shown(one) for one in question.examples],
        }

    def _shown(self, one: Hashable) -> dict[str, Any]:
        return _shown(str(one), self._items.get(one, str(one)))


def _shown(number: str, item: Any) -> dict[str, Any]:
    """Return what a widget shows of an item."""
    if isinstance(item, Mapping):
        return {"id": number, "kind": "row", "columns": [[str(k), str(v)] for k, v in item.items()]}
    if isinstance(item, np.ndarray) and item.ndim >= 2:
        from PIL import Image

        values = np.asarray(item, float)
        low, high = float(values.min()), float(values.max())
        scaled = (255 * (values - low) / (high - low or 1)).astype(np.uint8)
        item = Image.fromarray(scaled)
        if max(item.size) < SIDE // 2:
            factor = SIDE // 2 // max(item.size)
            item = item.resize(
                (item.width * factor, item.height * factor), Image.Resampling.NEAREST
            )
    if hasattr(item, "thumbnail") and hasattr(item, "save"):
        small = item.convert("RGB")
        small.thumbnail((SIDE, SIDE))
        content = io.BytesIO()
        small.save(content, "PNG")
        url = "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()
        return {"id": number, "kind": "image", "url": url}
    return {"id": number, "kind": "text", "text": str(item)}
