"""The pool: base clusterings, and the answers that each of them gets."""
