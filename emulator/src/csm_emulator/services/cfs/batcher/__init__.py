"""The batcher: it creates sessions for components whose configuration is pending."""
