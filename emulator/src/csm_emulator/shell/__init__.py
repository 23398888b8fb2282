"""A small POSIX shell: it runs ``sh -c …`` in a container of the cluster and command lines at a node's console.

``syntax`` parses a script, ``expansion`` expands its words, ``interpreter`` runs it, ``files`` is its file system, and
the other modules are its commands. The shell depends on neither Kubernetes nor nodes: they pass it files, further
commands and output streams. ``budget`` limits the work, time, output and memory of a line.
"""
