"""Growing forests of two-class trees, and computing affinities from them."""
