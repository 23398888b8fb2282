"""How a person or a program gets a token: grants, device login, its pages."""
