"""Similarities that learn a kernel."""
