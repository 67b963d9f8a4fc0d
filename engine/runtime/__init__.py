"""What every part of the engine stands on: time, and cleaning up to the end."""
