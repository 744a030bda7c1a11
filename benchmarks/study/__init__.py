"""The engine of all studies: methods, problems, one loop, one log, and reports made of the log."""
