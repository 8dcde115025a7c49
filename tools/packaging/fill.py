#!/usr/bin/env python3
"""Writes the recipes for a source archive: replaces @VERSION@, @ARCHIVE_URL@, @SHA256@ and the like in copies of the
files here, and adds the consumer programs that the packages are tested with."""

import argparse
import email.utils
import hashlib
import pathlib
import re
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
CONSUMERS = HERE.parent.parent / 'tests/package/consumers'
RECIPES = ('conan', 'debian', 'vcpkg', 'wrapdb')
PROGRAMS = {'conan/test_package': ('hello.cpp', 'existing.c'),
            'debian/tests': ('hello.cpp', 'existing.c')}


def values(arguments):
    data = arguments.archive.read_bytes()
    name, mail = email.utils.parseaddr(arguments.maintainer)
    return {
        'VERSION': re.fullmatch(r'cushim-(.+)\.tar\.xz', arguments.archive.name).group(1),
        'ARCHIVE_URL': arguments.url or arguments.archive.resolve().as_uri(),
        'SHA256': hashlib.sha256(data).hexdigest(),
        'SHA512': hashlib.sha512(data).hexdigest(),
        'HOMEPAGE': arguments.homepage,
        'MAINTAINER_NAME': name,
        'MAINTAINER_MAIL': mail,
        'DATE': email.utils.formatdate(arguments.archive.stat().st_mtime),
    }


def fill(source, target, names):
    text = source.read_text(encoding='utf-8')
    filled = re.sub(r'@([A-Z][A-Z0-9_]+)@', lambda found: names[found.group(1)], text)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(filled, encoding='utf-8')
    shutil.copymode(source, target)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('archive', type=pathlib.Path, help='cushim-VERSION.tar.xz of meson dist')
    parser.add_argument('output', type=pathlib.Path, help='a folder, which is replaced')
    parser.add_argument('--url', help='where the archive can be downloaded; default: its path here')
    parser.add_argument('--homepage', default='https://example.com/cushim')
    parser.add_argument('--maintainer', default='cushim maintainers <maintainers@example.com>')
    arguments = parser.parse_args()
    shutil.rmtree(arguments.output, ignore_errors=True)
    names = values(arguments)
    for recipe in RECIPES:
        for path in sorted((HERE / recipe).rglob('*')):
            if path.is_file() and '__pycache__' not in path.parts:
                fill(path, arguments.output / path.relative_to(HERE), names)
    for folder, programs in PROGRAMS.items():
        for program in programs:
            shutil.copy(CONSUMERS / program, arguments.output / folder)
    return 0


if __name__ == '__main__':
    sys.exit(main())
