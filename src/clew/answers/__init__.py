"""Questions, answers and edits: immutable, validated records, and the lines of their log.

The codes of answers are the same everywhere in clew:

============  ===========================  ===========================================
kind          rows                         codes
============  ===========================  ===========================================
pair          (i, j)                       `SAME` 1, `DIFFERENT` 0, `DONT_KNOW` -2
triplet       (a, b, c)                    `FIRST` 0 (a is more like b than like c),
                                           `SECOND` 1 (more like c), `DONT_KNOW` -2
odd_one_out   (i, j, k)                    0, 1, 2 (position of the odd one),
                                           `ALL_ALIKE` -1, `DONT_KNOW` -2
which_of      an item, then the examples   number of the group of the item, from 0,
              of each group                `NONE_OF_THESE` -1, `DONT_KNOW` -2
confirm       the examples of a group,     sum of ``2**k`` over the members, counted
              then its members             from 0, that do not belong to it: 0 if all
                                           do; `DONT_KNOW` -2
all kinds                                  `NOT_COMPARABLE` -3, `BAD_ITEM` -4
============  ===========================  ===========================================

If all three rows of an odd-one-out question differ from each other, the answer is `DONT_KNOW`:
`ALL_ALIKE` says that all three belong together. `DONT_KNOW`, `NOT_COMPARABLE` (the items cannot be
compared) and `BAD_ITEM` (an item cannot be judged by anybody, such as a blurred photo) are no
evidence of groups.

A log holds answers, edits and retractions in order of arrival, and nothing is ever removed from it.
This package imports neither NumPy nor anything of clew's models.
"""

# Names with "as" are for clew itself.
from clew.answers._implied import as_table_answers as as_table_answers, expand
from clew.answers._log import (
    Line as Line,
    ParsedLog as ParsedLog,
    brought_back as brought_back,
    entry_from_json,
    entry_to_json,
    items_of as items_of,
    last_answers as last_answers,
    meaning_of as meaning_of,
    parse_log as parse_log,
    standing,
)
from clew.answers._records import (
    EDIT_KINDS as EDIT_KINDS,
    Answer,
    Edit,
    EditKind as EditKind,
    Entry,
    Question,
    Retraction,
    line_of as line_of,
    new_id as new_id,
    now as now,
)
from clew.answers._seconds import SecondsModel
from clew.answers._words import (
    ALL_ALIKE,
    ANSWER_WORDS,
    AUTO_KINDS as AUTO_KINDS,
    BAD_ITEM,
    CODES as CODES,
    DIFFERENT,
    DONT_KNOW,
    FIRST,
    FLAG_WORDS as FLAG_WORDS,
    KINDS as KINDS,
    N_ROWS as N_ROWS,
    NO as NO,
    NONE_OF_THESE,
    NOT_COMPARABLE,
    ORIGINS,
    QUESTION_KINDS as QUESTION_KINDS,
    SAME,
    SECOND,
    THIRD,
    YES as YES,
    Kind,
    Origin,
    a_question as a_question,
    as_answer_code as as_answer_code,
    as_flag as as_flag,
    as_kind as as_kind,
    as_origin as as_origin,
    as_weight as as_weight,
    code_of_word as code_of_word,
    question_key as question_key,
)

__all__ = [
    "ALL_ALIKE",
    "ANSWER_WORDS",
    "BAD_ITEM",
    "DIFFERENT",
    "DONT_KNOW",
    "FIRST",
    "NONE_OF_THESE",
    "NOT_COMPARABLE",
    "ORIGINS",
    "SAME",
    "SECOND",
    "THIRD",
    "Answer",
    "Edit",
    "Entry",
    "Kind",
    "Origin",
    "Question",
    "Retraction",
    "SecondsModel",
    "entry_from_json",
    "entry_to_json",
    "expand",
    "standing",
]
