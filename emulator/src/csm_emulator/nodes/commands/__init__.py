"""Commands at the console of a node, one module for each subject."""
