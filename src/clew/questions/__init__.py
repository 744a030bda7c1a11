"""The information in the answer to a question."""

from clew.questions.information import (
    odd_one_out_information,
    pair_information,
    triplet_information,
)

__all__ = ["odd_one_out_information", "pair_information", "triplet_information"]
