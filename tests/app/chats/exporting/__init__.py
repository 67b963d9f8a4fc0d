"""Tests of conversations as files."""
