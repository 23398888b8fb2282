"""Which server and tenant a command talks to, and how a change is sent and followed."""
