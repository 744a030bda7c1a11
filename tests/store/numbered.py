"""Numbered answers, for processes that import no more."""

from clew.answers import Answer, Question

N_ITEMS = 60
PAIRS = [(i, j) for i in range(N_ITEMS) for j in range(i)]


def answer_of(number: int, annotator: str = "ann") -> Answer:
    i, j = PAIRS[number]
    question = Question("pair", (), "asked", (f"i{i}", f"i{j}"))
    return Answer(question, number % 2, annotator, origin="asked", id=f"{annotator}{number:06}")
