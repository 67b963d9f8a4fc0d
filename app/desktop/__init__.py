"""Folders, the log, single instance."""
