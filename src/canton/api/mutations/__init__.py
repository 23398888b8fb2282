"""The one way in which a request changes something: decided, given a reason, approved, done once, recorded."""
