"""Versions of the schema, for Alembic."""
