"""Growing forests of two-class trees, and reading affinities off them."""
