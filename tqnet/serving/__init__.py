"""An index over HTTP: an API for programs and a page for teachers."""
