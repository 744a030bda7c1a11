"""Groups from answers alone: in embeddings of answers, by belief propagation, as identities."""
