"""VNIs: partitions reserve them, blocks enforce them on edge ports."""
