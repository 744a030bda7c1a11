"""Tables and figures of the thesis on DistLQP."""
