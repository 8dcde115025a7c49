#!/usr/bin/env python3
"""Checks that sources include downwards, and that folders stay small: check_includes.py [ROOT].

In each tree of TREES, a folder may include itself and the folders after it; a folder inside it is a part of it. Headers
must not include each other in a circle. Below each of SMALL, a folder holds at most PAIRS pairs of header and source; a
file without the other counts as one. Prints each violation, and fails.
"""

import os
import pathlib
import re
import sys

# Folders from the top down; '' is the tree's own.
TREES = {
    'include/cushim': [],
    'src/api': ['libraries', 'graph', 'interop', 'memory', 'kernel', 'context', 'base'],
    'src/api/graph': ['calls', ''],
    'src/loader': ['', 'platform'],
    'src/dropin': [],
    'tools/cushim-info': [],
    'tools/simulator/driver': ['process', 'context', 'graph', 'kernel', 'interop', 'memory', 'engine', 'image', 'call',
                               'base'],
    'tools/simulator/runtime': ['graph', 'memory', 'kernel', 'context', 'base'],
}
SMALL = ('src', 'tools/simulator')
PAIRS = 25
SUFFIXES = ('.cpp', '.hpp', '.c', '.h')


def includes(root, tree):
    """Pairs of files of the tree, by their paths below it: the including and the included file."""
    base = root / tree
    for file in sorted(path for path in base.rglob('*') if path.suffix in SUFFIXES):
        for name in re.findall(r'^\s*#\s*include ["<]([^">]+)[">]', file.read_text(encoding='utf-8'), re.M):
            for folder in (file.parent, base, base.parent):
                target = pathlib.Path(os.path.normpath(folder / name))
                if target.is_file():
                    if target.is_relative_to(base):
                        yield file.relative_to(base), target.relative_to(base)
                    break


def upward(edges, order):
    """Includes of folders that are further up or missing from the order."""
    level = {folder: number for number, folder in enumerate(order)}
    for file, target in edges:
        source, other = (path.parts[0] if len(path.parts) > 1 else '' for path in (file, target))
        if source != other and source in level and level.get(other, -1) < level[source]:
            yield f'{file} includes {target}, which is above it'


def circles(edges):
    """The first include that closes a circle, for each circle of headers."""
    graph = {}
    for file, target in edges:
        graph.setdefault(file, []).append(target)
    done, path = set(), []

    def visit(file):
        if file in path:
            yield ' includes '.join(str(part) for part in [*path[path.index(file):], file])
        elif file not in done:
            path.append(file)
            for target in graph.get(file, []):
                yield from visit(target)
            done.add(path.pop())

    for file in list(graph):
        yield from visit(file)


def crowded(root):
    """Folders with too many files."""
    stems = {}
    for file in (path for tree in SMALL for path in (root / tree).rglob('*') if path.suffix in SUFFIXES):
        stems.setdefault(file.parent.relative_to(root), set()).add(file.stem)
    for folder, names in sorted(stems.items()):
        if len(names) > PAIRS:
            yield f'{folder}: {len(names)} pairs of header and source, limit {PAIRS}'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    problems, total = list(crowded(root)), 0
    for tree, order in TREES.items():
        edges = list(includes(root, tree))
        if not edges:
            sys.exit(f'{tree}: no includes found')
        total += len(edges)
        problems += [f'{tree}: {problem}' for problem in [*upward(edges, order), *circles(edges)]]
    if problems:
        sys.exit('\n'.join(problems))
    print(f'{total} includes go downwards; no folder has more than {PAIRS} pairs of files')


if __name__ == '__main__':
    main()
