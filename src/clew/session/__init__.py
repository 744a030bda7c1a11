"""Sessions: ask people, take their answers, and see the groups."""

from clew.session._entries import Contradiction, Preview
from clew.session._groups import Change
from clew.session._loop import Applied, Suggestion
from clew.session._open import StoreResult, StoreSession
from clew.session._quality import AnnotatorQuality, Estimate, GroupQuality, Quality
from clew.session._remaining import Advice, Remaining
from clew.session._result import Doubt, SessionResult
from clew.session.session import Session

__all__ = [
    "Advice",
    "AnnotatorQuality",
    "Applied",
    "Change",
    "Contradiction",
    "Doubt",
    "Estimate",
    "GroupQuality",
    "Preview",
    "Quality",
    "Remaining",
    "Session",
    "SessionResult",
    "StoreResult",
    "StoreSession",
    "Suggestion",
]
