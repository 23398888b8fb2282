"""WHERE IT IS KEPT: one SQL database, SQLite or PostgreSQL, through the same statements.

``schema`` says what is kept, ``database`` how to reach it; every other module holds the queries of one
aggregate. A query is a function of an open connection: the caller decides what else shares its transaction.
No decision about what should happen lives here, and no SQL lives anywhere else.
"""
