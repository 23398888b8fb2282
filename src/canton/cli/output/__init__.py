"""What a person sees: tables, JSON, help pages, manual pages. Sends no request."""
