"""Warnings that the contract's small data cause."""

import pytest


def pytest_collection_modifyitems(items):
    """Ignore the warning of `GuidedClustering` that a few rows of noise have no groups."""
    mark = pytest.mark.filterwarnings("ignore::clew.exceptions.NoGroupsWarning")
    for item in items:
        if item.nodeid.startswith("tests/contract/"):
            item.add_marker(mark)
