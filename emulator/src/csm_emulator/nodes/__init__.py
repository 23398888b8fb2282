"""What runs on nodes, as somebody at their console sees it. All of it comes from the ground truth."""
