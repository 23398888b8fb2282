"""The initial data of a site: secrets, images, repositories. All of it follows from the machine and its seed."""
