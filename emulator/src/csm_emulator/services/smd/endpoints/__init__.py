"""``/Inventory/RedfishEndpoints``, and the components and services of Redfish endpoints."""
