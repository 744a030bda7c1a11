"""``python -m benchmarks.papers NAME``: a command for each paper."""

from benchmarks.study.command import group

main = group(__file__, "benchmarks.papers", "Run the tables and figures of the papers again.")

if __name__ == "__main__":
    main(prog_name="python -m benchmarks.papers")
