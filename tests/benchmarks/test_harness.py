"""Time, memory, tables and descriptions of the benchmarks."""

import getpass
import json
import platform
import time
from pathlib import Path

import numpy as np
import pytest
from benchmarks._harness import source_tag

from benchmarks import _harness as harness, _memory as memory


def test_table_aligns_and_shows_what_is_missing() -> None:
    table = harness.markdown_table(["set", "ARI"], [["iris", 0.75], ["digits", float("nan")]])
    lines = table.splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2].split("|")[1:3] == [" iris   ", " 0.750 "]
    assert "–" in lines[3]
    assert "nan" not in table


def test_runs_take_turns() -> None:
    order: list[str] = []
    runs = {"a": lambda: order.append("a") or "A", "b": lambda: order.append("b")}
    seconds, found = harness.alternated(runs, {"a": 3, "b": 1})
    assert order == ["a", "b", "a", "a"]
    assert {name: len(values) for name, values in seconds.items()} == {"a": 3, "b": 1}
    assert found == {"a": "A", "b": None}


def test_wall_time_and_processor_time_differ() -> None:
    wall, cpu, found = harness.timed(lambda: time.sleep(0.05))
    assert wall >= 0.05 > cpu
    assert found is None


def test_provenance_names_no_machine() -> None:
    text = json.dumps(harness.provenance())
    for private in (platform.node(), getpass.getuser(), str(Path.home()), str(Path.cwd())):
        assert len(private) < 4 or private not in text


def test_source_tag_depends_on_code_and_not_on_comments() -> None:
    plain = harness._program("def f(x):\n    return x + 1\n")
    documented = harness._program(
        '"""Doc."""\ndef f(x):\n    """More."""\n    # why\n    return (x + 1)\n'
    )
    assert plain == documented
    assert plain != harness._program("def f(x):\n    return x + 2\n")


def test_source_tag_is_that_of_all_files_but_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness.clew, "__file__", str(tmp_path / "__init__.py"))
    (tmp_path / "cli").mkdir()
    tags = []
    for file, code in (("a.py", "1"), ("cli/b.py", "1"), ("a.py", "2")):
        (tmp_path / file).write_text(f"x = {code}\n")
        tags.append(source_tag.__wrapped__())
    assert tags[0] == tags[1] != tags[2]


def test_peak_memory_is_no_less_than_what_is_held() -> None:
    block = np.ones(2**22)
    assert memory.memory_peak() >= memory.memory_now() * 0.99
    assert memory.memory_now() > block.nbytes / 2**20
