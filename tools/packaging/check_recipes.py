#!/usr/bin/env python3
"""A check of the recipes that needs no registry: they can be filled in, JSON, Python and shell files have no syntax
error, the options that they pass to Meson exist, and the wrap provides what the build files do."""

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
    if path.suffix not in ('.cpp', '.c'):
        for name in re.findall(r'(?<![\w-])-D([a-z][a-z_]*)=', text):
            if name not in options | OF_MESON:
                yield f'-D{name}: meson_options.txt has no such option'
    if path.suffix == '.wrap':
        provided = re.search(r'^dependency_names = (.*)$', text, re.MULTILINE).group(1).split(', ')
        overridden = {name for folder in ('src', 'tools') for file in (TOP / folder).rglob('meson.build')
                      for name in re.findall(r"override_dependency\('([^']+)',", file.read_text(encoding='utf-8'))}
        if set(provided) != overridden:
            yield f'provides {sorted(provided)}, the build files {sorted(overridden)}'


def main():
    options = set(re.findall(r"^option\('(\w+)'", (TOP / 'meson_options.txt').read_text(encoding='utf-8'), re.MULTILINE))
    with tempfile.TemporaryDirectory() as folder:
        archive = pathlib.Path(folder) / 'cushim-1.0.0.tar.xz'
        archive.write_bytes(b'')
        recipes = pathlib.Path(folder) / 'recipes'
        # Fails at a name in a recipe that it cannot fill in.
        subprocess.run([sys.executable, str(HERE / 'fill.py'), str(archive), str(recipes)], check=True)
        files = [path for path in sorted(recipes.rglob('*')) if path.is_file()]
        problems = [f'{path.relative_to(recipes)}: {problem}' for path in files for problem in problems_of(path, options)]
    if problems:
        sys.exit('\n'.join(problems))
    print(f'   {len(files)} files of recipes are well-formed')


if __name__ == '__main__':
    main()
