"""Groups in the form of other programs: tables, COCO, Label Studio, FiftyOne, Camtrap DP, folders.

Names with "as" are for clew itself: the command line and the app write these files.
"""

from clew.exports._files import (
    FORMS as FORMS,
    PROGRAMS as PROGRAMS,
    TABLES as TABLES,
    Step as Step,
    apply as apply,
    files_of as files_of,
    grouped as grouped,
    plan as plan,
    safe_name as safe_name,
    tables_of as tables_of,
    undo as undo,
    zipped as zipped,
)
from clew.exports._members import (
    AGAINST as AGAINST,
    BETWEEN as BETWEEN,
    Doubt as Doubt,
    Member as Member,
    doubt_records as doubt_records,
    doubts_of as doubts_of,
)
