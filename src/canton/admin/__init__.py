"""Commands for the machine that runs Canton.

They open the database directly. Never imported by ``cli`` statically, which must start without a database.
"""
