"""Who calls, and what that person may pass on: tokens to principals, pinned bindings, attribution. Decides nothing:
``policy`` does.
"""
