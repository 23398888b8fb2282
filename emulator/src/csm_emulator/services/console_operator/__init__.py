"""cray-console-operator: which pod watches which console, and WebSockets to them."""
