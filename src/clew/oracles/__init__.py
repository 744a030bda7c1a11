"""Oracles, which answer questions about rows."""

from clew.oracles._replay import ReplayOracle
from clew.oracles._simulated import Oracle, SimulatedOracle, ask_oracle

__all__ = ["Oracle", "ReplayOracle", "SimulatedOracle", "ask_oracle"]
