"""The methods that the figures and tables compare."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone

from benchmarks.papers._relative.methods import Method
from clew import Constraints
from clew.cluster import DCRC, SimilarityClustering, SpectralClustering, SSSVaD
from clew.similarity import E2CP, ITML, LSML, MMC, SKLR, SparseLP

__all__ = [
    "ANNOTATORS",
    "COMPARATORS",
    "DEFAULT",
    "E2CP_PAIRS",
    "FREE",
    "HARD",
    "ITML_PAIRS",
    "KERNEL",
    "KMEANS",
    "METHODS",
    "ONE_PERSON",
    "ONE_PERSON_PAIRS",
    "PEOPLES",
    "PUBLISHED",
    "SIX_PEOPLE",
    "SKLR_TRIPLETS",
    "YES_NO",
    "ChosenTau",
]

PAPER_TAUS = (0.5, 1.0, 1.5)
#: In the middle of the paper's; for few answers, which choose none.
FALLBACK = 1
#: Error that the paper believes people to make.
PEOPLE_ERROR = 0.15
N_STARTS = 50


class ChosenTau(BaseEstimator):  # type: ignore[misc]
    """DCRC with the tau, of some, under which most held-out answers are right.

    Parameters
    ----------
    model : DCRC
        Chooses its lam in that way.
    taus : sequence of float
        What to choose from.
    random_state : int, default=None
        Seeds all fits alike.
    """

    def __init__(
        self, model: Any, taus: tuple[float, ...] = PAPER_TAUS, random_state: int | None = None
    ) -> None:
        self.model = model
        self.taus = taus
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, *, constraints: Constraints) -> Self:
        """Fit all, and keep the one that held-out answers prefer."""
        models = [
            clone(self.model).set_params(tau=tau, random_state=self.random_state)
            for tau in self.taus
        ]
        for model in models:
            model.fit(X, constraints=constraints)
        shares = [max(model.cv_scores_.values(), default=-1.0) for model in models]
        is_open = max(shares) < 0
        chosen = models[FALLBACK if is_open else shares.index(max(shares))]
        self.tau_, self.labels_ = chosen.tau, chosen.labels_
        return self


#: The values that are tried begin with the default: of those alike the first is taken.
def _space(name: str, label: str, hears: Any, space: Any, *tried: Any) -> Method:
    return Method(name, label, hears, space=space, tried=tried or None, n_starts=N_STARTS)


DEFAULT = Method("dcrc", "DCRC", "triplets", groups=DCRC)
KERNEL = Method(
    "dcrc_kernel", "DCRC kernel", "triplets", groups=lambda k: DCRC(k, kernel="adaptive")
)
LINEAR = Method("dcrc_linear", "DCRC linear", "triplets", groups=lambda k: DCRC(k, kernel=None))
YES_NO = Method("dcrc_yn", "DCRC-YN", "yes_no", groups=lambda k: DCRC(k, kernel=None))
PUBLISHED = Method(
    "dcrc_paper",
    "DCRC as published",
    "triplets",
    groups=lambda k: ChosenTau(DCRC(k, kernel=None, init="kmeans")),
)
HARD = Method(
    "dcrc_hard", "DCRC hard", "triplets", groups=lambda k: DCRC(k, kernel=None, epsilon=0.0)
)
FREE = Method(
    "dcrc_free", "DCRC no balance", "triplets", groups=lambda k: DCRC(k, kernel=None, balance=False)
)
KMEANS = Method("kmeans", "k-means", "nothing", n_starts=N_STARTS)
ITML_PAIRS = _space("itml", "ITML", "as_pairs", ITML, "gamma", (1.0, 0.01, 0.1, 10.0))
MMC_PAIRS = _space(
    "mmc", "MMC diagonal", "as_pairs", lambda: MMC(diagonal=True), "ridge", (0.3, 1.0, 0.1, 0.01)
)
LSML_YES_NO = _space("lsml", "LSML", "yes_no", LSML, "weight", ("auto", 1.0, 100.0, 10_000.0))
SPARSE_LP = _space("sparse_lp", "SparseLP", "yes_no", SparseLP, "sparsity", (0.1, 0.01, 1.0))
SSSVAD = Method("sssvad", "SSSVaD", "yes_no", groups=SSSVaD)
SKLR_TRIPLETS = _space("sklr", "SKLR", "triplets", SKLR)
E2CP_PAIRS = Method(
    "e2cp",
    "E2CP",
    "as_pairs",
    groups=lambda k: SimilarityClustering(E2CP(), SpectralClustering(k)),
)
#: The methods that the paper sets beside its own.
COMPARATORS = (ITML_PAIRS, MMC_PAIRS, LSML_YES_NO, SSSVAD, SPARSE_LP)
METHODS = (
    DEFAULT, LINEAR, KERNEL, YES_NO, PUBLISHED, HARD, FREE, *COMPARATORS, KMEANS, SKLR_TRIPLETS,
    E2CP_PAIRS,
)  # fmt: skip


def _believing(error: Any, name: str, label: str, hears: Any = "triplets") -> Method:
    return Method(name, label, hears, groups=lambda k: DCRC(k, epsilon=error))


PEOPLES = _believing(PEOPLE_ERROR, "dcrc_15", "DCRC ε = .15")
ANNOTATORS = _believing("annotators", "dcrc_annotators", "DCRC annotators")
ONE_PERSON_PAIRS = tuple(
    replace(method, name=f"{method.name}_pairs", hears="pairs") for method in COMPARATORS[:2]
)
#: Table V.
ONE_PERSON = (
    PEOPLES,
    _believing(PEOPLE_ERROR, "dcrc_15_yn", "DCRC-YN ε = .15", "yes_no"),
    ANNOTATORS,
    LSML_YES_NO,
    SPARSE_LP,
    SSSVAD,
    *ONE_PERSON_PAIRS,
)
SIX_PEOPLE = (PEOPLES, ANNOTATORS, LSML_YES_NO, SSSVAD, SPARSE_LP, ITML_PAIRS)
