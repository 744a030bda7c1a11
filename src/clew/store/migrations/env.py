"""Run by Alembic: it migrates the connection that `clew.store` hands over."""

from alembic import context

from clew.store._models import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    render_as_batch=True,
)
context.run_migrations()
