"""K-means and mean shift on a kernel."""
