"""The result of a fit: groups, doubtful rows and answers, the reasons for them, explanations."""
