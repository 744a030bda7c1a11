"""What data say of an answer."""
