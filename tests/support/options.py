"""The arguments of a test script, from meson.build: words, and `--name VALUE...`. After `--`, words follow again."""

import pathlib
import sys


class Options:
    def __init__(self, words):
        self.words, self.named = [], {}
        values = self.words
        for word in words:
            if word == '--':
                values = self.words
            elif word.startswith('--'):
                values = self.named.setdefault(word[2:], [])
            else:
                values.append(word)

    def all(self, name):
        return self.named.get(name, [])

    def text(self, name, otherwise=None):
        return (self.all(name) or [otherwise])[-1]

    def path(self, name):
        return pathlib.Path(self.text(name)) if self.all(name) else None

    def command(self, name):
        """The words of a command, which meson.build joins by the unit separator (0x1f)."""
        return self.text(name, '').split('\x1f')


def of_command_line():
    """Removes all arguments from sys.argv, so that unittest does not parse them."""
    options = Options(sys.argv[1:])
    del sys.argv[1:]
    return options
