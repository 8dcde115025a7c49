#!/usr/bin/env python3
"""For a release: `check VERSION` fails unless the tree is that version; `collect FOLDER` puts the files of a release into
FOLDER: the source archive of `tools/dev packaging`, the amalgamation of `tools/dev amalgamate`, their hashes, and
NOTES.md, the section of the changelog."""

import argparse
import datetime
import hashlib
import pathlib
import re
import shutil
import sys
import tarfile

TOP = pathlib.Path(__file__).resolve().parent.parent.parent


def read(name):
    return (TOP / name).read_text(encoding='utf-8')


def version_of_tree():
    return re.search(r"^    version: '([^']+)'", read('meson.build'), re.MULTILINE).group(1)


def soversion_of_tree():
    return re.search(r"'soversion': '(\d+)'", read('src/meson.build')).group(1)


def section(version):
    """The text of the changelog's section, without its heading; empty if there is none with a date."""
    found = re.search(rf'^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)', read('CHANGELOG.md'),
                      re.MULTILINE | re.DOTALL)
    return found.group(1).strip() if found else ''


def check(version):
    problems = []
    if version != version_of_tree():
        problems.append(f'meson.build has version {version_of_tree()}, not {version}')
    if not section(version):
        problems.append(f'CHANGELOG.md has no section "## [{version}] - {datetime.date.today()}"')
    for name in ('cushim', 'cushim-core'):
        if not (TOP / f'tools/packaging/symbols/lib{name}.so.{soversion_of_tree()}').exists():
            problems.append(f'lib{name}.so.{soversion_of_tree()} has no list in tools/packaging/symbols')
    for problem in problems:
        print(f'error: {problem}', file=sys.stderr)
    return 1 if problems else 0


def collect(folder, archives, amalgamation):
    version = version_of_tree()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    shutil.copy(archives / f'cushim-{version}.tar.xz', folder)
    packed = folder / f'cushim-{version}-amalgamation.tar.xz'
    if not any(amalgamation.iterdir()):
        raise SystemExit(f'error: {amalgamation} is empty')
    with tarfile.open(packed, 'w:xz') as archive:
        archive.add(amalgamation, arcname=packed.name.removesuffix('.tar.xz'))
    hashes = [f'{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n' for path in sorted(folder.iterdir())]
    (folder / f'cushim-{version}.sha256').write_text(''.join(hashes), encoding='ascii')
    (folder / 'NOTES.md').write_text((section(version) or 'Not released.') + '\n', encoding='utf-8')
    print(''.join(hashes), end='')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest='command', required=True)
    commands.add_parser('check').add_argument('version')
    collecting = commands.add_parser('collect')
    collecting.add_argument('folder', type=pathlib.Path)
    collecting.add_argument('--archives', type=pathlib.Path, default=TOP / 'build/packaging/for-dist/meson-dist')
    collecting.add_argument('--amalgamation', type=pathlib.Path, default=TOP / 'build/amalgamation')
    arguments = parser.parse_args()
    if arguments.command == 'check':
        return check(arguments.version)
    return collect(arguments.folder, arguments.archives, arguments.amalgamation)


if __name__ == '__main__':
    sys.exit(main())
