"""What the page shows; each view is a function of the question, and returns plain JSON."""
