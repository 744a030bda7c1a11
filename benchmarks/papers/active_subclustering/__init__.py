"""Active subclustering: Figure 6 of chapter 4 of the thesis."""
