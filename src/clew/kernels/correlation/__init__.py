"""Kernels of correlation clustering, one stage a file."""
