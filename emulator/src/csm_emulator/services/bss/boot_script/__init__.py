"""``/bootscript``: the iPXE script that a node loads."""
