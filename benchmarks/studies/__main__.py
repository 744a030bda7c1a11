"""``python -m benchmarks.studies NAME``: a command for each study."""

from benchmarks.study.command import group

main = group(__file__, "benchmarks.studies", "Compare methods of clew.")

if __name__ == "__main__":
    main(prog_name="python -m benchmarks.studies")
