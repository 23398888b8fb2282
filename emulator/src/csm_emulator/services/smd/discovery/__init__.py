"""Discovery over Redfish, and the events that follow it."""
