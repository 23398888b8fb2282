"""A machine from a data file: cabinets, blades, networks, addresses."""
