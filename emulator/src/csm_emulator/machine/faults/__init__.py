"""What can be wrong with a machine: the kinds of faults, their targets and parameters, those that are set."""
