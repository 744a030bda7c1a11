"""Refinement of groups, so that they agree with the nearest rows and with the answers."""
