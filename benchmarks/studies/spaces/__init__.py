"""The study of spaces: OrdinalEmbedding beside other software, and kinds of questions."""
