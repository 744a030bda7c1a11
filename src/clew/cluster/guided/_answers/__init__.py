"""Groups from answers alone: by embeddings, by belief propagation, by correlation clustering."""
