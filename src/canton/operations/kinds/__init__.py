"""One file per step kind; a new kind is a new file here.

A kind sees and acts through a contract and decides nothing: see ``operations.kinds``. When what a kind does or
reads changes, its version grows, and the old one stays until no open operation names it.
"""
