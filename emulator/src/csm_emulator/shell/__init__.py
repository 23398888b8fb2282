"""A small shell: what ``sh -c …`` does in a container of the cluster and a line does at a node's console.

``syntax`` reads a script, ``expansion`` makes words of it, ``interpreter`` runs it, ``files`` is what it sees as its
file system, and the other modules are its commands. It knows neither Kubernetes nor nodes: those give it files,
commands of their own, and somewhere to write. A script costs at most what ``budget`` allows.
"""
