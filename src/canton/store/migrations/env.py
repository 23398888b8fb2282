"""What Alembic executes; the connection, already inside a transaction, is handed in by ``canton.store.migrate``."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
