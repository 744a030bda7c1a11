"""Sessions: ask people, take their answers, and see the groups."""

from clew.session._quality import Estimate, GroupQuality, Quality
from clew.session._remaining import Advice, Remaining
from clew.session._result import Doubt, SessionResult
from clew.session.session import Session

__all__ = [
    "Advice",
    "Doubt",
    "Estimate",
    "GroupQuality",
    "Quality",
    "Remaining",
    "Session",
    "SessionResult",
]
