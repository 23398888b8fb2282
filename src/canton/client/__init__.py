"""THE SDK: everything the API offers, from Python, with the standard library alone.

    from canton.client import Client

    with Client("https://canton.example.org", token) as canton:
        for tenant in canton.tenants.list():
            print(tenant["name"], tenant["state"])
        started = canton.nodes.power("x1000c0s0b0n[0-3]", to="off", reason="ticket 17")
        for operation in canton.operations.follow(started["id"]):
            print(operation["state"], operation["steps"]["done"], "of", operation["steps"]["total"])

What comes back is the API's JSON as plain dictionaries, typed in ``objects``. What goes wrong is a ``Problem``, which
is also the leaf of ``canton.domain.errors`` that its code names, or ``Unreachable``. Only requests that are safe to
repeat are repeated: those that read, and changes, each of which carries an ``Idempotency-Key``.

A client works with servers of its own minor version, the one before and the one after. It is not to be shared between
threads. Imports of Canton: the domain, and nothing else.
"""

from canton.client.client import Client
from canton.client.credentials import Credentials, StoredCredentials, Token
from canton.client.errors import Incompatible, Problem, ReadOnly, Unreachable, WaitTimeout

__all__ = [
    "Client",
    "Credentials",
    "Incompatible",
    "Problem",
    "ReadOnly",
    "StoredCredentials",
    "Token",
    "Unreachable",
    "WaitTimeout",
]
