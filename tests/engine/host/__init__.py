"""Tests of the engine process, the wire and the client."""
