"""What HPE's hardware management services share through their libraries."""
