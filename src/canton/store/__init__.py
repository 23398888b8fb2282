"""THE STORE: one SQL database, SQLite or PostgreSQL, through the same statements.

``schema`` has the tables, ``database`` the connections; every other module has the queries of one aggregate.
A query is a function of an open connection: the caller decides what else shares its transaction.
No decision about what should happen lives here, and no SQL lives anywhere else.
"""
