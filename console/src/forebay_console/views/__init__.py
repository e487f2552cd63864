"""What the page shows; each view is a function of what was asked, and returns plain JSON."""
