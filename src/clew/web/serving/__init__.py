"""The web process: the app of a project, and `clew serve` below the command."""
