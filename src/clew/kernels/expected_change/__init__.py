"""Changes of a clustering (HACC, by constrained Kruskal) after one more answer."""
