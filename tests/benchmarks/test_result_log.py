"""A study that was stopped loses no result, and no result counts twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks._result_log import ResultLog


@pytest.fixture
def log(tmp_path: Path) -> ResultLog:
    return ResultLog(tmp_path / "study.jsonl", ["set", "trial"])


def test_no_file_is_no_result(log: ResultLog) -> None:
    assert log.read() == {}


def test_results_come_back_by_their_key(log: ResultLog) -> None:
    for trial in range(3):
        log.append({"set": "iris", "trial": trial, "ari": trial / 2})
    assert log.read()["iris", 2]["ari"] == 1.0


def test_later_result_holds(log: ResultLog) -> None:
    log.append({"set": "iris", "trial": 0, "ari": 0.1})
    log.append({"set": "iris", "trial": 0, "ari": 0.2})
    assert [record["ari"] for record in log.read().values()] == [0.2]


def test_line_that_was_cut_short_costs_only_itself(log: ResultLog) -> None:
    log.append({"set": "iris", "trial": 0, "ari": 0.1})
    with log.path.open("a", encoding="utf-8") as file:
        file.write('{"set": "iris", "trial": 1, "a')
    assert set(log.read()) == {("iris", 0)}
    log.keep()
    log.append({"set": "iris", "trial": 1, "ari": 0.3})
    assert set(log.read()) == {("iris", 0), ("iris", 1)}


def test_keep_forgets_the_others(log: ResultLog) -> None:
    for name in ("iris", "glass"):
        log.append({"set": name, "trial": 0})
    log.keep(lambda record: record["set"] != "iris")
    assert set(log.read()) == {("glass", 0)}
