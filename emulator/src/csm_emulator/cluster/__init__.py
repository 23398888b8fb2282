"""The ground truth of the management cluster: which pods there are, what they say, what can be run in them."""
