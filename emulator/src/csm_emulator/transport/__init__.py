"""HTTP as the faces see it: calls, replies, routes, listeners. Knows no service and no machine."""
