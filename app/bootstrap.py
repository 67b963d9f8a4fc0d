"""Builds the app from its parts; decides nothing."""
