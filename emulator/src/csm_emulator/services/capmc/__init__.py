"""CAPMC v1, the predecessor of PCS. Facts from HPE's hms-capmc 3.10: power goes to PCS, power caps to Redfish."""
