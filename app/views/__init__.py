"""Qt widgets that show what they are told and emit what the user asks for."""
