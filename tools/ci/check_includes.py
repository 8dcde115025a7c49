#!/usr/bin/env python3
"""Checks that sources include downwards, and that folders stay small: check_includes.py [ROOT].

In each tree of TREES, a folder may include itself and those that follow it in one of its lists; folders inside it are a
part of it. Headers must not include each other in a circle. Below each of SMALL, a folder holds at most PAIRS pairs of
header and source; a file without the other counts as one. Prints each violation, and fails.
"""

import graphlib
import os
import pathlib
import re
import sys

# Lists of folders from the top down; '.' stands for the files of the tree itself.
TREES = {
    '.': ['src include', 'tools include'],
    'src': ['api loader', 'dropin loader'],
    'src/api': ['pch libraries graph interop memory kernel context base'],
    'src/api/graph': ['kinds .'],
    'src/api/base': ['. platform', 'platform .'],  # both ways: platform uses base's ranges and names
    'src/loader': ['. platform'],
    'tools': ['cushim-info', 'simulator'],
    'tools/simulator': ['pch runtime driver ptx .', 'variants driver', 'tool driver .', 'conformance'],
    'tools/simulator/driver': ['process context graph kernel interop memory engine image call base'],
    'tools/simulator/ptx': ['steps run arithmetic .'],
    'tools/simulator/runtime': ['forward graph memory kernel context base'],
}
ROOTS = ('include', 'src', 'tools')
SMALL = ('src', 'tools/simulator')
PAIRS = 25
SUFFIXES = ('.cpp', '.hpp', '.c', '.h')


def sources(root, trees):
    return sorted(path for tree in trees for path in (root / tree).rglob('*') if path.suffix in SUFFIXES)


def includes(root):
    """Pairs of files, by their paths below the root: the including and the included one.

    A name is looked up in the file's folder and those around it, then in include and in the trees.
    """
    for file in sources(root, ROOTS):
        around = file.relative_to(root).parents
        for name in re.findall(r'^\s*#\s*include ["<]([^">]+)[">]', file.read_text(encoding='utf-8'), re.M):
            targets = (os.path.normpath(folder / name) for folder in map(pathlib.Path, [*around, 'include', *TREES]))
            target = next((target for target in targets if (root / target).is_file()), None)
            if target:
                yield file.relative_to(root), pathlib.Path(target)


def upward(edges, tree, orders):
    """Includes within a tree that none of its orders allows."""
    orders = [order.split() for order in orders]
    for file, target in edges:
        parts = [path.relative_to(tree).parts for path in (file, target)]
        source, other = (names[0] if len(names) > 1 else '.' for names in parts)
        if source != other and not any(other in order[order.index(source):] for order in orders if source in order):
            yield f'{file} includes {target}, which is not below it'


def circles(edges):
    """A circle of headers, if there is one."""
    graph = {}
    for file, target in edges:
        graph.setdefault(file, []).append(target)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield ' includes '.join(str(file) for file in reversed(error.args[1]))


def crowded(root):
    """Folders with too many files."""
    stems = {}
    for file in sources(root, SMALL):
        stems.setdefault(file.parent.relative_to(root), set()).add(file.stem)
    for folder, names in sorted(stems.items()):
        if len(names) > PAIRS:
            yield f'{folder}: {len(names)} pairs of header and source, limit {PAIRS}'


def violations(root, edges):
    """All of them, one a line."""
    for tree, orders in TREES.items():
        inside = [edge for edge in edges if all(path.is_relative_to(tree) for path in edge)]
        yield from upward(inside, tree, orders) if inside else [f'{tree}: no includes found']
    yield from circles(edges)
    yield from crowded(root)


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else '.')
    edges = list(includes(root))
    problems = list(violations(root, edges))
    if problems:
        sys.exit('\n'.join(problems))
    print(f'{len(edges)} includes go downwards; no folder has more than {PAIRS} pairs of files')


if __name__ == '__main__':
    main()
