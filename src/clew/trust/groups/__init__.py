"""What groups say of an answer, and of who gave it."""
