"""Sets of node names, written folded: the grammar, the folding, the values. Standard library only."""
