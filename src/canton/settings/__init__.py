"""SETTINGS: what a site configures, where each value came from, and what is refused.

``model`` holds the typed settings that the rest of Canton receives, ``table`` defines every setting, and ``loading``
reads the values and builds the model. The reference page and ``canton settings`` are made from the table.

No setting is read anywhere else, and nothing here opens a database, a socket or a file other than the configuration.
The API, wiring and the commands on the server import it; the domain, the SDK and the ``canton`` client do not. It uses
the standard library and the domain only, because every command on the server starts with it.
"""
