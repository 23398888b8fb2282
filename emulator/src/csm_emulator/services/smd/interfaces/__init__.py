"""``/Inventory/EthernetInterfaces``."""
