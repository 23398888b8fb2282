"""The real state of the management cluster: its pods, their logs, and the programs that run in them."""
