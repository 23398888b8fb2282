"""What the bodies of IMS may hold."""
