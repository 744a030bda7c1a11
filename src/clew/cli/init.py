"""``clew init``: make a project of a folder or a file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import click

from clew.cli._options import QUIET
from clew.cli._projects import add_collection, collection_options, read_for, say_added


@click.command()
@click.argument("project", metavar="PROJECT", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    metavar="PATH",
    help="Folder of media, table, boxes of COCO, texts, vectors or distances.  [default: PROJECT]",
)
@click.option(
    "--name", default="", metavar="NAME", help="Name of the project.  [default: the folder's]"
)
@click.option(
    "--store",
    default="",
    metavar="URL",
    help="Where answers are kept: postgresql://…  [default: a database in the folder]",
)
@click.option(
    "--features",
    default="auto",
    show_default="by what the items are",
    metavar="MODEL",
    help="What describes images, sounds and texts: efficientnet-lite0, shapes, log-mel, tf-idf, "
    "minilm, or a network of yours: onnx:FILE, timm:NAME, open_clip:NAME@WEIGHTS, "
    "sentence-transformers:NAME. Nothing is downloaded.",
)
@click.option("--empty", is_flag=True, help="Make a project without items, for clew import all.")
@collection_options
@click.option("--json", "as_json", is_flag=True, help="Print what was added as JSON.")
@QUIET
def init(
    project: Path,
    source: Path | None,
    name: str,
    store: str,
    features: str,
    empty: bool,
    **options: Any,
) -> None:
    """Make a project, which keeps items, answers and groups in a folder .clew.

    All commands then find the project from its folder, or from --project. A project is not needed
    for one person and one file: clew ask and clew group read files directly.

    \b
    clew init photos
    clew init birds --from birds.csv
    clew init whales --from boxes.json
    clew init faces --from photos --vectors X.npy --ids ids.txt
    """  # noqa: D301 - click's mark for lines to keep
    from clew.cli._progress import Words
    from clew.collections import Collection, Project

    words = Words(quiet=options["quiet"] or options["as_json"])
    if features != "auto":
        from clew.features import extractor

        extractor(features)  # refuses an unknown name
    place = project if source is None else source
    if not place.exists() and not empty:
        raise click.UsageError(f"there is no folder {project}; name one, or a file with --from")
    if (project / ".clew" / "settings.toml").exists():
        raise FileExistsError(f"{project} has a project already; clew add puts further items in it")
    folder = project / ".clew"
    is_new, is_new_folder = not folder.exists(), not project.exists()
    try:
        if empty:
            collection = Collection([], place.resolve())
        else:
            cache = folder / "cache" / "files.json"
            collection = read_for(place, options, words, root=None, cache=cache)
        made = Project.create(
            project, media=collection.root, store=store, name=name, features=features
        )
        with made.open_store() as opened:
            added = add_collection(made, opened, collection)
            opened.set_settings({"name": made.name})
    except BaseException:
        if is_new:
            shutil.rmtree(folder, ignore_errors=True)
        if is_new_folder:
            shutil.rmtree(project, ignore_errors=True)
        raise
    if not empty:
        say_added(words, place, collection, added)
    words.say(f"made {folder}; next: clew ask -p {project}, or clew serve -p {project}")
    if options["as_json"]:
        left_out = {each.id: each.reason for each in collection.left_out}
        facts = added.facts() | {"project": str(project), "left_out": left_out}
        click.echo(json.dumps(facts, ensure_ascii=False))
