"""Names of hardware components: the grammar as a table, the parser, explained mistakes. Standard library only."""
