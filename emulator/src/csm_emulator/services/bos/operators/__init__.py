"""BOS's operators: each looks at what there is, does its one thing, and looks again."""
