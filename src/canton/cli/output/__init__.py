"""What commands print: tables, JSON, help pages, manual pages. Sends no requests."""
