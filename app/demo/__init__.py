"""A real chat with nobody at the keyboard, for machines without a display."""
