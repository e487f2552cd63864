"""Small programs that show Forebay at work; each folder is one story."""
