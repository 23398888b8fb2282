"""THE COMMAND LINE: Click, one file per noun, each imported only when its command runs.

Here live arguments, help and output. No database, no HTTP server, no rule of the product: ``canton.cli`` imports the
domain and the client, and nothing else of Canton. Commands that need the database are in ``canton.admin`` and are
reached by name through the table in ``main``.

What commands share is in few places: ``options`` (what can be given), ``session`` (whom a command talks to),
``output`` (how a noun is shown), ``change`` (confirmation, approval, already so), ``follow`` (work that takes time).
"""
