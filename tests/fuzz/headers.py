#!/usr/bin/env python3
"""Mutations of header texts for the generator of tables, in Python: headers.py. The environment has FUZZ_SECONDS (60) and
FUZZ_FOLDER (the current one), for headers.log. Fails at the first text that ends in a traceback, which it prints."""

import contextlib
import os
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'support'))
import mutated_headers  # noqa: E402


def main():
    end = time.monotonic() + int(os.environ.get('FUZZ_SECONDS', '60'))
    log, seed = pathlib.Path(os.environ.get('FUZZ_FOLDER', '.')) / 'headers.log', int(time.time())
    with open(log, 'w', encoding='utf-8') as output, contextlib.redirect_stdout(output):
        try:
            tried, usable = mutated_headers.run(seed, is_over=lambda: time.monotonic() > end)
        except Exception:  # an error of the generator
            traceback.print_exc(file=output)
            tried = usable = 0
    print(f'seed {seed}: {tried} texts, {usable} of them with a table')
    if usable * 10 <= tried:
        print(log.read_text(encoding='utf-8'))
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
