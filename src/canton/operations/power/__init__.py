"""The power of nodes as their sites report it: read at an interval, stored with the time of the reading."""
