#!/usr/bin/env python3
"""Writes cushim.h and cushim.c: the loader, the tables of the given CUDA headers and the drop-in, for projects that
copy files into their own tree instead of building cushim.

    amalgamate.py --output DIR [--include DIR] [--depfile FILE] -- c++ [flags]

cushim.c is C11; cushim.h is also for C++20. Both name the version of the CUDA headers, and reject headers of another
major version. cushim.c defines the functions cu* and cuda* too if CUSHIM_DROPIN is defined.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tables import emit_dropin

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">][^\n]*\n', re.MULTILINE)

# Of these, C programs may use the first.
PUBLIC = ['cushim/loader.h', 'cushim/driver_table.hpp', 'cushim/runtime_table.hpp']


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--output', required=True, help='folder to write to')
    parser.add_argument('--include', action='append', default=[], help='folder of the CUDA headers')
    parser.add_argument('--depfile', help='names the sources that the files contain, for make and ninja')
    parser.add_argument('compiler', nargs='+', help='the compiler command, after --')
    return parser.parse_args()


class Text:
    """Sources in which every include of a file of cushim is replaced by the file, once."""

    def __init__(self, folders, included=()):
        self.folders, self.included = folders, set(included)

    def find(self, name, folder):
        places = [folder, *self.folders] if folder else self.folders
        paths = [pathlib.Path(os.path.normpath(place / name)) for place in places]
        return next((path for path in paths if path.is_file()), None)

    def file(self, path):
        """The text of a file; empty if it was included before and may be included only once."""
        if path in self.included:
            return ''
        self.included.add(path)
        text = path.read_text(encoding='utf-8').replace('#pragma once\n', '')
        text = INCLUDE.sub(lambda match: self.include(match, path.parent), text)
        return text if text.endswith('\n') else text + '\n'

    def include(self, match, folder):
        path = self.find(match[2], folder if match[1] == '"' else None)
        return match[0] if path is None else self.file(path)

    def named(self, name):
        path = self.find(name, None)
        return f'/* --- {name} --- */\n' + self.file(path)


def sources_of(folder):
    """The sources that the meson.build of a folder names, in their order."""
    names = re.findall(r"'([\w/]+\.c)'", (ROOT / folder / 'meson.build').read_text(encoding='utf-8'))
    return [name for name in dict.fromkeys(names) if (ROOT / folder / name).is_file()]


def version_of_cushim():
    return re.search(r"^ *version: '(.*)'", (ROOT / 'meson.build').read_text(encoding='utf-8'), re.MULTILINE)[1]


def generated(arguments, folder):
    """Generates the tables, and returns the version of the CUDA headers."""
    options = [word for place in arguments.include for word in ('--include', place)]
    done = subprocess.run([sys.executable, ROOT / 'tools/generate_tables.py', '--output', folder, *options, '--',
                           *arguments.compiler], check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)  # the generator has printed the reason
    text = (folder / 'driver_headers.h').read_text(encoding='utf-8')
    return int(re.search(r'^#elif CUDA_VERSION < (\d+)', text, re.MULTILINE)[1])


def dotted(cuda):
    return f'{cuda // 1000}.{cuda % 1000 // 10}'


def header(text, version, cuda):
    """The text, and the files that it contains for C, too."""
    license_text = (ROOT / 'LICENSE').read_text(encoding='utf-8').strip()
    body = text.named(PUBLIC[0])
    for_both = set(text.included)
    tables = ''.join(text.named(name) for name in PUBLIC[1:])
    commented = ''.join(f' * {line}'.rstrip() + '\n' for line in license_text.splitlines())
    return f'''/* cushim {version}: CUDA without linking libcuda or libcudart. For the headers of CUDA {dotted(cuda)}, and newer
 * ones of the same major version. Written by `tools/dev amalgamate`; do not edit.
 *
 * C++20: cushim::driver().cuInit(0), cushim::runtime().cudaMalloc(...), and the functions of loader.h below.
 * C11: the functions of loader.h. Compiled with -DCUSHIM_DROPIN, cushim.c also defines cuInit, cudaMalloc, ... for C and
 * C++ programs that include <cuda.h> and <cuda_runtime_api.h>.
 *
 * Compile and link:
 *     cc -O2 -ffunction-sections -fdata-sections [-DCUSHIM_DROPIN] -Iheaders -c cushim.c
 *     cc app.c cushim.o -ldl -pthread -Wl,--gc-sections
 *
{commented} */
#ifndef CUSHIM_AMALGAMATION_H
#define CUSHIM_AMALGAMATION_H

#define CUSHIM_AMALGAMATION_VERSION "{version}"
#define CUSHIM_AMALGAMATION_CUDA_VERSION {cuda}
#ifndef CUSHIM_STATIC
#define CUSHIM_STATIC 1
#endif

{body}
#ifdef __cplusplus
{tables}#endif

#endif
''', for_both


def hidden(text):
    """Hides what the text declares, so that a library that contains it exports nothing of it, but not what the
    included headers declare."""
    return 'CUSHIM_LOCAL_BEGIN\n' + INCLUDE.sub(
        lambda match: f'CUSHIM_LOCAL_END\n{match[0]}CUSHIM_LOCAL_BEGIN\n', text) + 'CUSHIM_LOCAL_END\n'


def source(text, version, cuda):
    loader = ''.join(text.named(name) for name in sources_of('src/loader'))
    rows = ''.join(text.named(f'{api}_{part}.c') for api in ('driver', 'runtime') for part in ('rows', 'registry'))
    dropin = ''.join(text.named(f'dropin_{api}_{topic}.c') for api in ('driver', 'runtime') for topic in emit_dropin.topics()) + ''.join(
        text.named(f'../dropin/{name}') for name in sources_of('src/dropin'))
    return f'''/* cushim {version} for the headers of CUDA {dotted(cuda)}: see cushim.h. */
#ifdef __cplusplus
#error "cushim: cushim.c is C: compile it with a C compiler."
#endif
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#undef CUDA_API_PER_THREAD_DEFAULT_STREAM
#ifdef CUSHIM_AMALGAMATION_H
#error "cushim: compile cushim.c alone; do not include it."
#endif
/* Warnings that projects enable for their own sources. */
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wcast-qual"
#pragma GCC diagnostic ignored "-Wmissing-declarations"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wredundant-decls"
#endif
#define CUSHIM_STATIC 1
#define CUSHIM_BUILDING_CORE 1
#define CUSHIM_VERSION_TEXT "{version}"
#define CUSHIM_CUDA_VERSION {cuda}
#define CUSHIM_CUDA_MAJOR {cuda // 1000}

#include "cushim.h"

#if CUSHIM_AMALGAMATION_CUDA_VERSION != CUSHIM_CUDA_VERSION
#error "cushim: cushim.h and cushim.c were written for different CUDA headers: copy both again."
#endif

{hidden(loader + rows)}
#ifdef CUSHIM_DROPIN
{hidden(dropin)}#endif
'''


def main():
    arguments = parse_arguments()
    output = pathlib.Path(arguments.output)
    with tempfile.TemporaryDirectory() as place:
        tables = pathlib.Path(place, 'cushim/detail')
        cuda = generated(arguments, tables)
        version = version_of_cushim()
        folders = [ROOT / 'include', tables.parent.parent, tables, ROOT / 'src/loader', ROOT / 'src/dropin']
        of_shared = {tables / f'{api}_slot_table.{ending}' for api in ('driver', 'runtime') for ending in ('h', 'inc')}
        public = Text(folders, of_shared)
        of_header, for_both = header(public, version, cuda)
        private = Text(folders, for_both | of_shared)
        of_source = source(private, version, cuda)
    os.makedirs(output, exist_ok=True)
    for name, text in (('cushim.h', of_header), ('cushim.c', of_source)):
        (output / name).write_text(re.sub(r'\n{3,}', '\n\n', text), encoding='utf-8')
        print(output / name)
    if arguments.depfile:
        sources = sorted(str(path) for path in public.included | private.included
                         if path.is_relative_to(ROOT))
        pathlib.Path(arguments.depfile).write_text(' '.join([f'{output / "cushim.h"}:', *sources]) + '\n',
                                                   encoding='utf-8')


if __name__ == '__main__':
    main()
