"""How well `clew.Session` estimates its quality and the number of questions that remain."""
