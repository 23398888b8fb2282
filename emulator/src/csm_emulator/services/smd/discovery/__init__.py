"""Discovery over Redfish, Redfish events, and polling of nodes without heartbeats."""
