"""Groups in the form of other programs: tables, COCO, Label Studio, FiftyOne, Camtrap DP, folders.

Names with "as" are for clew itself: the command line and the app write these files.
"""

from clew.exports._doubts import (
    Doubt as Doubt,
    doubt_records as doubt_records,
    doubts_of as doubts_of,
)
from clew.exports._files import (
    FORMS as FORMS,
    PROGRAMS as PROGRAMS,
    TABLES as TABLES,
    files_of as files_of,
    grouped as grouped,
    tables_of as tables_of,
    zipped as zipped,
)
from clew.exports._folders import (
    Step as Step,
    apply as apply,
    plan as plan,
    safe_name as safe_name,
    undo as undo,
)
from clew.exports._members import AGAINST as AGAINST, BETWEEN as BETWEEN, Member as Member
