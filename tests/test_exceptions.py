import pickle

import pytest

from clew import exceptions
from clew.exceptions import (
    ClewError,
    InconsistentConstraintsError,
    InfeasibleConstraintsError,
    InvalidConstraintsError,
)

BUILT_IN = {
    "InvalidConstraintsError": ValueError,
    "InconsistentConstraintsError": ValueError,
    "InfeasibleConstraintsError": ValueError,
    "UnsupportedConstraintError": ValueError,
    "InvalidArgumentError": TypeError,
    "InvalidParameterError": ValueError,
    "InvalidDataError": ValueError,
    "FileFormatError": ValueError,
    "ClusterError": RuntimeError,
    "DatasetNotFoundError": FileNotFoundError,
    "StoreError": OSError,
    "LeaseLostError": RuntimeError,
    "ProjectNotFoundError": FileNotFoundError,
    "MissingDependencyError": ImportError,
    "TooLargeError": MemoryError,
}


WARNINGS = {
    "DeadEndWarning",
    "DistancesAsFeaturesWarning",
    "FewerGroupsWarning",
    "IgnoredColumnsWarning",
    "NoGroupsWarning",
    "ReversedAnswersWarning",
}


def test_every_error_is_listed_here():
    assert set(exceptions.__all__) == {"ClewError", *BUILT_IN, "ClewWarning", *WARNINGS}


@pytest.mark.parametrize("name", sorted(WARNINGS))
def test_warnings_are_clew_warnings_and_user_warnings(name):
    warning = getattr(exceptions, name)
    assert issubclass(warning, exceptions.ClewWarning)
    assert issubclass(warning, UserWarning)
    assert not issubclass(warning, ClewError)


@pytest.mark.parametrize(("name", "built_in"), BUILT_IN.items())
def test_errors_are_clew_errors_and_a_built_in_error(name, built_in):
    error = getattr(exceptions, name)
    assert issubclass(error, ClewError)
    assert issubclass(error, built_in)
    assert str(error("what went wrong")) == "what went wrong"


def test_inconsistency_names_its_chain_and_survives_a_process_boundary():
    error = InconsistentConstraintsError("rows 3 and 9 contradict", chain=(3, 5, 9))
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, InvalidConstraintsError)
    assert (str(copy), copy.chain) == ("rows 3 and 9 contradict", (3, 5, 9))
    assert InconsistentConstraintsError("no chain known").chain == ()


def test_infeasibility_names_rows_and_survives_a_process_boundary():
    error = InfeasibleConstraintsError("3 rows, 2 groups", rows=(0, 4, 7))
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, InvalidConstraintsError)
    assert (str(copy), copy.rows) == ("3 rows, 2 groups", (0, 4, 7))
    assert InfeasibleConstraintsError("no row known").rows == ()
