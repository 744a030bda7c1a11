"""Active clustering: Figures 5, 6 and 7 of the thesis, with wrong answers and real people."""
