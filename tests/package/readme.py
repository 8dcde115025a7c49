"""The code blocks of README.md and other pages, which tests run like a reader."""

import ctypes
import re

from consumer import arguments, run

BLOCK = re.compile(r'^```(\w+)\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def blocks(page='README.md'):
    """Language and text of each block, in the order of the page."""
    return BLOCK.findall((arguments.source / page).read_text(encoding='utf-8'))


def block(language, word=''):
    """The only block of this language that contains the word."""
    (text,) = [text for name, text in blocks() if name == language and word in text]
    return text


def check_app(test, program):
    """The program of the page prints the output that the page shows."""
    test.check_linked(program, arguments.type != 'static')
    try:
        ctypes.CDLL('libcuda.so.1')
    except OSError:
        test.assertEqual(run(program), block('text'))
    else:
        test.skipTest('this machine has a CUDA driver')
