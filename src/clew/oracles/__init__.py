"""Who answers questions."""

from clew.oracles._simulated import Oracle, SimulatedOracle

__all__ = ["Oracle", "SimulatedOracle"]
