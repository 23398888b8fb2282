"""The Boot Orchestration Service, version 2: its API, and the operators that carry out what it holds."""
