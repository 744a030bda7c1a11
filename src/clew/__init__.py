"""clew."""
