"""From messages to tokens and back, exact to the byte. No MLX."""
