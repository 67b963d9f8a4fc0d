"""Builds an engine; decides nothing."""
