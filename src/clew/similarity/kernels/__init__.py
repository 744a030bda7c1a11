"""Learned kernels."""
