#!/usr/bin/env python3
"""Joins test files into fewer translation units, which compile in about half the time.

usage: join_test_files.py OUTPUT... -- FILE...

Each file becomes a namespace, so that its names do not clash with those of other files, and keeps its name and
line numbers. What precedes its last #include stays outside: comments, #include and the conditions around them.
"""

import pathlib
import re
import sys

import changed_file

BEFORE_CODE = re.compile(r'\s*(//.*)?|#\s*(include|if|ifdef|ifndef|elif|else|endif)\b.*')


def joined(path):
    lines = path.read_text(encoding='utf-8').splitlines()
    begin = 1 + max((at for at, line in enumerate(lines) if re.match(r'#\s*include\b', line)), default=-1)
    while lines[begin:begin + 1] == ['#endif']:
        begin += 1
    conditions = []  # open at the last #include: closed before the namespace and reopened in it
    for at, line in enumerate(lines[:begin], 1):
        if not BEFORE_CODE.fullmatch(line):
            sys.exit(f'{path}:{at}: code before the last #include')
        if re.match(r'#\s*if', line):
            conditions.append(line)
        elif re.match(r'#\s*el', line):
            conditions[-1] = None
        elif re.match(r'#\s*endif', line):
            conditions.pop()
    if None in conditions:
        sys.exit(f'{path}: the last #include is in an #else')
    name = 'united_' + re.sub(r'\W', '_', path.stem)
    file = path.as_posix()
    return '\n'.join([f'#line 1 "{file}"', *lines[:begin], *['#endif'] * len(conditions),
                      f'namespace {name} {{', *conditions, f'#line {begin + 1} "{file}"', *lines[begin:],
                      f'}} // namespace {name}', ''])


def groups(texts, count):
    """Groups of about the same size. Neighbours, which use the same headers, stay together."""
    of_all, before, found = sum(map(len, texts)), 0, [[] for _ in range(count)]
    for text in texts:
        found[(before + len(text) // 2) * count // of_all].append(text)
        before += len(text)
    return found


def main():
    split = sys.argv.index('--')
    outputs = [pathlib.Path(name) for name in sys.argv[1:split]]
    files = [pathlib.Path(name) for name in sys.argv[split + 1:]]
    for output, texts in zip(outputs, groups([joined(path) for path in files], len(outputs))):
        changed_file.write(output, '\n'.join(texts))


if __name__ == '__main__':
    main()
