"""What Alembic executes. ``canton.store.maintenance.migrate`` hands in a connection that is inside a transaction."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
