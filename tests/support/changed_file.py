"""Writes generated files."""

import pathlib


def write(path, text):
    """Leaves a file with the same text alone, so that the build does not repeat what depends on it."""
    path, content = pathlib.Path(path), text.encode('utf-8')
    if not path.exists() or path.read_bytes() != content:
        path.write_bytes(content)
