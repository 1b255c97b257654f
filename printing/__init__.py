"""The book on paper: every page of the built book printed by Chromium and joined into one PDF (``make pdf``)."""
