"""How the schema came to be, revision by revision; ``canton.store.maintenance.migrate`` applies them.

A file is called ``NNNN_pre_what.py`` or ``NNNN_post_what.py`` and its revision has the same name, at most 32
letters (Alembic's column). *pre* is applied before the new code is rolled out: code of the release before must be
able to run on it, so it only adds. *post* is applied after: it removes what no running code uses any more, and the
new code must run without it.

A revision writes its tables out and never imports the schema, which moves on. It runs in one transaction.
"""
