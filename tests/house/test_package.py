"""The README on the package index, where relative links lead nowhere."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOOK = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"][
    "metadata"
]["hooks"]["fancy-pypi-readme"]


def test_every_link_of_the_readme_becomes_absolute() -> None:
    (fragment,) = HOOK["fragments"]
    text = (ROOT / fragment["path"]).read_text(encoding="utf-8")
    assert re.search(r"\]\((?!https?:)", text)
    for rule in HOOK["substitutions"]:
        text = re.sub(rule["pattern"], rule["replacement"], text)
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert [target for target in targets if not target.startswith("https://")] == []
    assert re.search(r"!\[[^\]]+\]\(https://raw\.[^)]+\.png\)", text)
