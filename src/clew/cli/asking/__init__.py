"""``clew ask``: the loop of questions to a person at the terminal."""
