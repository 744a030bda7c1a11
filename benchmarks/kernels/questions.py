"""What a question of ExpectedChange costs, exactly and over all pairs."""

from collections.abc import Callable
from typing import Any

from benchmarks.kernels._measure import Case, Run
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew import Answer, Question
from clew.questions import ExpectedChange

#: Seconds of a question in the thesis, with both heuristics, in MATLAB.
THESIS_SECONDS = 60.0


def started(problem: Problem, **options: Any) -> ExpectedChange:
    """Start a strategy, and give it the answers of the problem."""
    strategy = ExpectedChange(problem.n_clusters, random_state=0, **options).start(problem.X)
    known = problem.answers
    pairs = zip(known.pairs.tolist(), known.pair_answers.tolist(), strict=True)
    return strategy.tell(Answer(Question("pair", tuple(rows)), code) for rows, code in pairs)


def ask(problem: Problem, **options: Any) -> Callable[[], Any]:
    strategy = started(problem, **options)
    return strategy.ask


def start(problem: Problem, **options: Any) -> Callable[[], Any]:
    """Time the start, and the first question after the answers."""
    return lambda: started(problem, **options).ask()


def _case(label: str, n: int, n_answers: int, work: Any, repeats: int = 5, **more: Any) -> Case:
    problem = Problem("mixture", n, 30, min(max(2, n // 17), MAX_GROUPS), n_answers=n_answers)
    return Case(label, problem, Run("clew", work, {}, repeats), **more)


#: A quick run has 300 rows.
MAX_GROUPS = 200
SIZES = (250, 1042, 2000)
#: Repeats of each question where threads are compared.
N_TIMES = 25
#: Sizes at which 2,000 rows represent the others.
LARGE_SIZES = (6_000, 10_000)
AT_MOST = {1042: 0.1, 2000: 1.0}
QUESTIONS = tuple(
    _case(
        "a question", n, n_answers, ask,
        peers=(Run("thesis", THESIS_SECONDS),) if n == 1042 else (),
        goals={"ours.cpu_s": AT_MOST[n]} if n in AT_MOST else {},
    )
    for n in SIZES for n_answers in (0, 500, 2000)
) + tuple(_case("a question", n, 500, ask) for n in LARGE_SIZES)  # fmt: skip
STARTS = tuple(
    _case(
        "start and a question", n, 500, start, measures_growth=True,
        goals={"ours.growth_mib": 9 * n**2 / 2**20},
    )
    for n in SIZES[1:]
) + tuple(
    _case("start and a question", n, 500, start, 1, measures_growth=True) for n in LARGE_SIZES
)  # fmt: skip
THREADS = tuple(
    _case(
        "a question", n, 500, ask, N_TIMES,
        peers=(Run("two", ask, {"n_jobs": 2}, N_TIMES),),
    )
    for n in SIZES[1:]
)  # fmt: skip
COLUMNS = {
    "what": "label", "data": "problem.data", "size": "problem.size",
    "groups": "problem.n_clusters", "answers": "problem.answers", "s": "ours.cpu_s",
}  # fmt: skip
THREAD_COLUMNS = COLUMNS | {
    "s": "ours.least_wall_s", "s, two threads": "peers.two.least_wall_s",
    "CPU s": "ours.cpu_s", "CPU s, two threads": "peers.two.cpu_s",
}  # fmt: skip
PAGE = Page(
    "questions",
    {
        "questions": Table(
            COLUMNS | {"thesis s": "peers.thesis.cpu_s", "ratio": "peers.thesis.ratio"},
            QUESTIONS, quick=slice(2),
        ),
        "starts": Table(COLUMNS | {"MiB": "ours.growth_mib"}, STARTS, quick=slice(0)),
        "threads": Table(THREAD_COLUMNS, THREADS, quick=slice(0)),
    },
)  # fmt: skip
