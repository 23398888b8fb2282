"""Jobs that create an image from a recipe or customise an image."""
