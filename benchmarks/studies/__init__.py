"""Our own questions, each a study: ``python -m benchmarks.studies NAME``.

A study is a folder here (or in ``benchmarks/papers``), found by its ``report.py``:

``study.py``
    Methods (`benchmarks.study.methods.Method`: a row of the tables, named by entries of the
    registries `SIMILARITIES` and `CLUSTERERS`), cells (points at which methods are measured, such
    as a number of answers; each has a `name` for the log), and a subclass of
    `benchmarks.study.engine.Study` with

    - `problem(name)`: the data set, by `benchmarks.study.problems.load`;
    - `points(name)`: every (method, cell) of a set, those that take longest first;
    - `measure(task)`: the scores of one (set, method, cell, trial), as a dict of numbers.
      `benchmarks.study.fits.run_method` fits a method, notes refusals and times it;
    - `no_answers`: the cell that stands for all others in methods without answers;
    - `version(method)` only where `benchmarks.study.fits.version`, a hash of the parameters, is not
      enough, and `base(method, cell)` where methods are the same in several cells.

    All draws are seeded by `benchmarks.study.tags.seed_of`: set, trial and cell give the seed.
``report.md`` and ``report.py``
    The report with its places in braces, and a class with a method for each place, filled in by
    `benchmarks.study.report.fill`. A method returns Markdown, or declarations of
    `benchmarks.study.report`: `Table`, `Claim` in `Claims`, `Curves`, `Picture`, `Page`. It reads a
    `benchmarks.study.results.Results`: `values` and `curve` by trial, `mean` over sets and cells
    on points that all compared methods have, `score`. ``command = study_command(...)``: the study,
    the report, a small form for ``--quick``.

The engine does the rest: it measures what the log ``results/NAME.jsonl`` lacks, averages over
common trials, and writes ``results/NAME.md`` with its pictures. ``--check N`` measures N random
results of the log again, and fails if today's code gives others. ``dcrc`` is the shortest example.
"""
