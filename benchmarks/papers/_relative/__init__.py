"""What the studies of answers about three rows share: draws, methods, one loop, and reading it."""
