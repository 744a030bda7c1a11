"""Rounds of refinement: how many there are, and which `partial_fit` computes."""

from __future__ import annotations

import numpy as np

from clew.cluster import GuidedClustering
from clew.cluster.guided import _rounds
from clew.cluster.guided._members.members import REFINED_AGAIN_BY, REFINED_BY, REFINED_CONSENSUS


def names(model, beginning):
    """Names of clusterings, without their beginning."""
    return {name.removeprefix(beginning) for name in model.scores_ if name.startswith(beginning)}


def test_both_rounds_have_the_same_smoothers_and_strengths(blobs):
    first, second = (names(blobs.model, one) for one in (REFINED_BY, REFINED_AGAIN_BY))
    assert first == second
    every = {"neighbors", "ridge", "discriminants"}
    assert {f"{one}, {strength}" for one in every for strength in (1, 3)} <= first
    assert REFINED_CONSENSUS in blobs.model.weights_


def test_many_rows_have_one_round_without_discriminants(blobs, monkeypatch):
    monkeypatch.setattr(_rounds, "SECOND_ROUND_ROWS", 59)
    model = GuidedClustering(3, random_state=0).fit(blobs.X, constraints=blobs.known)
    assert not names(model, REFINED_AGAIN_BY)
    first = {name.split(",")[0] for name in names(model, REFINED_BY)}
    assert {"neighbors", "ridge"} <= first
    assert "discriminants" not in first


def test_partial_fit_keeps_the_first_round_and_the_discriminants(blobs, monkeypatch):
    is_first = np.arange(120) < 115
    first, more = (blobs.known.select(pairs=which) for which in (is_first, ~is_first))
    model = GuidedClustering(3, random_state=0).fit(blobs.X, constraints=first)

    def refuse(*given):
        raise AssertionError

    monkeypatch.setattr(_rounds, "refinements", refuse)
    monkeypatch.setattr(_rounds, "discriminant_smoothers", refuse)
    before = model.scores_
    model.partial_fit(constraints=more)
    assert model.scores_.keys() == before.keys()
    assert model.scores_ != before
