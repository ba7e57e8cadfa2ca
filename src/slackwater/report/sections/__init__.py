"""One section of the page a file: pure functions of a ``Subject`` to HTML."""
