"""Authentication, authorization, and the reviews about them."""
