"""What a person gives to a command: options, nodesets, files of nodes, files of declared state."""
