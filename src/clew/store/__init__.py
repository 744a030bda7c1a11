"""Where the answers of people are kept."""

from clew.store.answer_file import AnswerFile

__all__ = ["AnswerFile"]
