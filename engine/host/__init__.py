"""The engine process, the wire, and the client the app uses."""
