"""Learned Mahalanobis metrics."""
