"""Oracles, which answer questions about rows."""

from clew.oracles._simulated import Oracle, SimulatedOracle

__all__ = ["Oracle", "SimulatedOracle"]
