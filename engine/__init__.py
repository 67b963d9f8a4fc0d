"""Candor's engine: local language models served to any number of sessions at once, with no window in sight."""
