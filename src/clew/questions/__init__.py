"""What to ask next, and what an answer is worth."""

from clew.questions.information import (
    odd_one_out_information,
    pair_information,
    triplet_information,
)

__all__ = ["odd_one_out_information", "pair_information", "triplet_information"]
