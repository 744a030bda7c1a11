"""Groups in the form of other programs: tables, COCO, Label Studio, FiftyOne, Camtrap DP, folders.

Names with "as" are for clew itself: the command line and the app write these files.
"""

from clew.exports._camtrap import camtrap_dp as camtrap_dp
from clew.exports._folders import (
    Step as Step,
    apply as apply,
    plan as plan,
    safe_name as safe_name,
    undo as undo,
)
from clew.exports._members import Member as Member, members_of as members_of
from clew.exports._pictures import coco as coco, fiftyone as fiftyone, label_studio as label_studio
from clew.exports._tables import (
    ANSWER_COLUMNS as ANSWER_COLUMNS,
    EXEMPLAR_COLUMNS as EXEMPLAR_COLUMNS,
    GROUP_COLUMNS as GROUP_COLUMNS,
    answer_records as answer_records,
    exemplar_records as exemplar_records,
    group_records as group_records,
    table_bytes as table_bytes,
)
