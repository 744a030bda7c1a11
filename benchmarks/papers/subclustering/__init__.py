"""Subclustering: the figures and tables of chapter 4 of the thesis, and of its appendix 6.4."""
