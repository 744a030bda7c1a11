"""The choice of the number of groups."""
