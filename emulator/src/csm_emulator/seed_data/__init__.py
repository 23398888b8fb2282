"""What a site has on its first day: secrets, images, repositories. All of it follows from the machine and its seed."""
