"""From tokens to principals, pinned bindings, and fields that only auditors see. Decides nothing: ``policy`` does."""
