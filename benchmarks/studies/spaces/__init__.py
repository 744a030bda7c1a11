"""The study of spaces: OrdinalEmbedding compared with other software, and kinds of questions."""
