"""What an administrator does to a whole database: migrate, back up, check."""
