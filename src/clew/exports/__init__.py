"""Groups in the form of other programs: tables, COCO, Label Studio, FiftyOne, Camtrap DP, folders.

Names with "as" are for clew itself: the command line and the app write these files.
"""

from clew.exports._camtrap import camtrap_dp as camtrap_dp
from clew.exports._folders import Step as Step
from clew.exports._folders import apply as apply
from clew.exports._folders import plan as plan
from clew.exports._folders import safe_name as safe_name
from clew.exports._folders import undo as undo
from clew.exports._members import Member as Member
from clew.exports._members import members_of as members_of
from clew.exports._pictures import coco as coco
from clew.exports._pictures import fiftyone as fiftyone
from clew.exports._pictures import label_studio as label_studio
from clew.exports._tables import (
    ANSWER_COLUMNS as ANSWER_COLUMNS,
)
from clew.exports._tables import (
    EXEMPLAR_COLUMNS as EXEMPLAR_COLUMNS,
)
from clew.exports._tables import (
    GROUP_COLUMNS as GROUP_COLUMNS,
)
from clew.exports._tables import answer_records as answer_records
from clew.exports._tables import exemplar_records as exemplar_records
from clew.exports._tables import group_records as group_records
from clew.exports._tables import table_bytes as table_bytes
