"""The input of commands: options, nodesets, files of nodes, files of declared state."""
