"""Auto-encoders and blocks that more than one method uses."""
