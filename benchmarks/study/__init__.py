"""Shared by all studies: methods, problems, the loop, the log, and reports made from the log."""
