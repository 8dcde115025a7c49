#!/usr/bin/env python3
"""A check of the recipes that needs no registry: they can be filled in, JSON, Python and shell files have no syntax
error, the options that they pass to Meson exist, and they name the requirements of the build files."""

import ast
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
# Options of Meson itself that a recipe may set.
OF_MESON = {'default_library', 'optimization', 'buildtype', 'prefix', 'libdir'}


def options_of_project():
    return set(re.findall(r"^option\('(\w+)'", (TOP / 'meson_options.txt').read_text(encoding='utf-8'), re.MULTILINE))


def problems_of(path, options):
    text = path.read_text(encoding='utf-8')
    try:
        if path.suffix == '.json':
            json.loads(text)
        elif path.suffix == '.py':
            ast.parse(text)
        elif text.startswith('#!/bin/sh'):
            subprocess.run(['sh', '-n', str(path)], check=True, capture_output=True, text=True)
    except (ValueError, SyntaxError, subprocess.CalledProcessError) as error:
        yield f'{error}'
    if path.suffix not in ('.cpp', '.c', '.1'):
        for name in re.findall(r'(?<![\w-])-D([a-z][a-z_]*)=', text):
            if name not in options | OF_MESON:
                yield f'-D{name}: meson_options.txt has no such option'
    for name in re.findall(r'@[A-Z][A-Z0-9_]+@', text):
        yield f'{name} was not replaced'


def problems_of_wraps(recipes):
    provided = re.findall(r'^dependency_names = (.*)$', (recipes / 'wrapdb/cushim.wrap').read_text(encoding='utf-8'),
                          re.MULTILINE)[0].split(', ')
    listed = json.loads((recipes / 'wrapdb/releases.json').read_text(encoding='utf-8'))['cushim']['dependency_names']
    overridden = set()
    for path in list((TOP / 'src').rglob('meson.build')) + list((TOP / 'tools').rglob('meson.build')):
        overridden.update(re.findall(r"meson\.override_dependency\('([^']+)',", path.read_text(encoding='utf-8')))
    for names, where in ((provided, 'cushim.wrap'), (listed, 'releases.json')):
        if set(names) != overridden:
            yield f'wrapdb/{where} provides {sorted(names)}, the build files {sorted(overridden)}'


def main():
    options = options_of_project()
    problems = []
    with tempfile.TemporaryDirectory() as folder:
        version = re.search(r"^    version: '([^']+)'", (TOP / 'meson.build').read_text(encoding='utf-8'),
                            re.MULTILINE).group(1)
        archive = pathlib.Path(folder) / f'cushim-{version}.tar.xz'
        archive.write_bytes(b'')
        recipes = pathlib.Path(folder) / 'recipes'
        subprocess.run([sys.executable, str(HERE / 'fill.py'), str(archive), str(recipes)], check=True)
        files = [path for path in sorted(recipes.rglob('*')) if path.is_file()]
        for path in files:
            problems += [f'{path.relative_to(recipes)}: {problem}' for problem in problems_of(path, options)]
        problems += problems_of_wraps(recipes)
    for problem in problems:
        print(f'error: {problem}', file=sys.stderr)
    if not problems:
        print(f'   {len(files)} files of recipes are well-formed')
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
