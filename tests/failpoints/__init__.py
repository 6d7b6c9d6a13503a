"""Named places where daemon and hooks reach out of their processes, and what can go wrong there, one at a time."""
