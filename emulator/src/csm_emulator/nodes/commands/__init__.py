"""Commands that a person can type at the console of a node, one file for those about one subject."""
