"""Events to readers: one hub per server, a reader per connection, server-sent events on the wire."""
