"""THE COMMAND LINE: Click, one file per noun, each imported only when its command runs.

Here live arguments, help and output. No database, no HTTP server, no rule of the product: ``canton.cli`` imports the
domain and the client, and nothing else of Canton. Commands that need the database are in ``canton.admin`` and are
reached by name through the table in ``main``.

What commands share: ``input.options`` (the options that many have), ``session.session`` (server, tenant, login),
``output`` (tables and other formats), ``session.change`` (confirmation and approval), ``session.follow`` (operations).
"""
