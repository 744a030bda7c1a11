"""What members read: features or coordinates of distances, and views of them."""
