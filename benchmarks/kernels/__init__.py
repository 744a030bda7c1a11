"""Speed and memory, always beside a peer in the same run."""
