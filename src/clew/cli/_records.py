"""Tables in which several rows seem to describe the same thing: their characters are compared."""

from __future__ import annotations

from typing import Any

import pandas as pd

from clew.cli._inputs import Items
from clew.cli._job import Job
from clew.cli._progress import Words
from clew.cluster.guided._records import MOST_COPIES, are_groups_tiny
from clew.tables import RecordFeatures
from clew.tables._records import may_be_records

__all__ = ["are_many_small_groups", "with_records_recognized"]


def with_records_recognized(job: Job, items: Items, words: Words) -> Items:
    """Replace the features of a table of records by the n-grams of their characters.

    Only for ``--method guided``, and not if `n_groups` is below a fifth of the number of rows.

    Parameters
    ----------
    job : Job
        The options.
    items : Items
        The rows with the features of an ordinary table, or texts.
    words : Words
        Says what was found.

    Returns
    -------
    Items
        The same if rows do not look like records of the same things.
    """
    frame = items.frame if items.texts is None else pd.DataFrame({"text": items.texts})
    is_few = job.n_groups is not None and job.n_groups * MOST_COPIES < len(frame)
    if job.method != "guided" or is_few or items.is_distances or items.folder is not None:
        return items
    if frame.shape[1] == 0 or not may_be_records(frame):
        return items
    recipe = RecordFeatures()
    X = recipe.fit_transform(frame)
    if not are_groups_tiny(X):
        return items
    used = [column.name for column in recipe.columns_ if column.use != "dropped"]
    unused = [column.name for column in recipe.columns_ if column.use == "dropped"]
    words.say(
        "many small groups: records of the same thing? The characters of "
        f"{', '.join(used)} are compared"
        + (f"; {', '.join(unused)} are not used" if unused else "")
        + ". -k with a small number groups the rows by the features above"
    )
    return items._replace(X=X, are_records=True, is_scaled=True)


def are_many_small_groups(model: Any) -> bool:
    """Whether a fitted model found many small groups of rows that are nearly equal."""
    return getattr(getattr(model, "_fitted", None), "records", None) is not None
