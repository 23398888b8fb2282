"""Delivers events: one hub per server, a reader per connection, server-sent events."""
