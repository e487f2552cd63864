"""Keys whatever they hold, and the moves that the commands of all types share."""
