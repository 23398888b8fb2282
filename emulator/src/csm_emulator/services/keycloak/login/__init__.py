"""Login: the token endpoint with its grants, the device flow, and the pages of the device flow."""
