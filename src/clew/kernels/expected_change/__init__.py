"""How one more answer changes the clustering of constrained Kruskal."""
