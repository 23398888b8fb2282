"""cray-console-operator: assigns consoles to pods, and connects WebSockets to them."""
