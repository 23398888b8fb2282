"""HTTP for the services: calls, replies, routes, listeners. It knows no service and no machine."""
