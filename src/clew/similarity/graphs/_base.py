"""What similarities whose affinity is a finished graph have in common."""

from __future__ import annotations

from typing import ClassVar

from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from clew.graphs import check_n_neighbors, nearest_graph
from clew.similarity.graphs._built_on import BuiltOnSimilarity

__all__ = ["FinishedGraph"]


class FinishedGraph(BuiltOnSimilarity):
    """A similarity built on another one whose `affinity_matrix_` is to be cut as it is."""

    is_graph: ClassVar[bool] = True

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Keep the largest affinities of each row.

        Parameters
        ----------
        n_neighbors : int, default=20
            How many.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Symmetric, nothing on the diagonal.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        check_is_fitted(self, "affinity_matrix_")
        check_n_neighbors(n_neighbors, self.affinity_matrix_.shape[0])
        return nearest_graph(self.affinity_matrix_, n_neighbors)
