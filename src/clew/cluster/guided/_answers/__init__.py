"""Groups from answers alone: in spaces of answers, by belief propagation, and identities."""
