"""The study of people's real answers."""
