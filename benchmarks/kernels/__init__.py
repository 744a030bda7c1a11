"""Speed and memory of clew and of other software, measured in the same run."""
