"""From sampling settings to the next token, with what is captured on the way. MLX."""
