#!/usr/bin/env python3
"""Generates cushim's tables from the CUDA headers that the build found.

Runs the target compiler's preprocessor over cuda.h and cuda_runtime_api.h (and over the profiler headers
if present) in three views, and writes one row for each function that any view declares. The build runs
this; run it manually to see the tables for other headers:

    generate_tables.py --output DIR [--include DIR] [--strict] -- c++ [flags]

tables/introduced.txt lists the CUDA version that introduced each name, for headers without
cudaTypedefs.h. --add-versions adds the versions of these headers to it. --list-unknown prints those of
their names that have no version, neither there nor in cudaTypedefs.h. --print-folder prints the folder in
which the compiler finds cuda.h.
"""

import argparse
import json
import os
import pathlib
import sys

from tables import declarations, emit_dropin, emit_headers, emit_sources, model, versions


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument('--output', help='folder to write to')
    job.add_argument('--add-versions', action='store_true', help='update tables/introduced.txt')
    job.add_argument('--list-unknown', action='store_true', help='print names without a known version')
    job.add_argument('--print-folder', action='store_true', help='print the folder of cuda.h')
    parser.add_argument('--include', action='append', default=[], help='folder of the CUDA headers')
    parser.add_argument('--style', choices=['gcc', 'msvc'], default='gcc',
                        help="command-line syntax of the compiler")
    parser.add_argument('--depfile', help='file for the list of CUDA headers, for the build')
    parser.add_argument('--stamp', help='file to touch at the end, which the depfile names as its target, for builds '
                                        'that run this until the target is newer than the headers')
    parser.add_argument('--strict', action='store_true',
                        help='fail on a declaration that is not understood, instead of omitting it')
    parser.add_argument('compiler', nargs='+', help='the compiler command, after --')
    return parser.parse_args()


def report_left_out(tables, strict):
    left_out = [(t.api.header, text) for t in tables for text in t.left_out]
    for header, text in left_out:
        print(f'generate_tables: {"error" if strict else "warning"}: not understood in {header}, '
              f'{"" if strict else "omitted: "}{text}', file=sys.stderr)
    if left_out and strict:
        sys.exit(1)


def row_facts(row):
    function = row.function
    return {'export': row.name, 'base': versions.split_export(row.name)[0],
            'member': row.members[-1], 'result': function.result,
            'parameters': [{'name': p.name, 'declaration': p.declaration, 'type': p.type}
                           for p in function.parameters],
            'introduced': row.introduced, 'bare': row.bare, 'modes': row.views}


def rows_json(tables, packed, folder):
    return json.dumps({'cuda_version': packed, 'headers_folder': folder, 'tables': {
        t.api.key: {'rows': [row_facts(r) for r in t.rows], 'left_out': t.left_out} for t in tables}},
        indent=1)


def error_codes(preprocessor):
    codes = {}
    for api, prefix, first in ((model.DRIVER, 'CUDA_', 'CUDA_SUCCESS'), (model.RUNTIME, 'cuda', 'cudaSuccess')):
        tokens = declarations.Source(preprocessor.run([api.header], [])).tokens
        text = ' '.join(tokens[tokens.index(first):] if first in tokens else [])
        if not text.startswith(f'{first} = '):
            raise declarations.Damaged(f'{preprocessor.end(api.header)}: no enumeration begins with '
                                       f'the status 0 of the {api.key} API')
        codes[api.key] = emit_sources.error_codes(text.partition('}')[0], prefix)
    return codes


def write(folder, name, text):
    """Does not touch a file with the same content: the build then leaves everything that depends on it."""
    path, content = os.path.join(folder, name), text.encode('utf-8')
    if os.path.exists(path):
        with open(path, 'rb') as file:
            if file.read() == content:
                return
    with open(path, 'wb') as file:
        file.write(content)


def write_depfile(path, target, files):
    def escaped(name):
        return name.replace('$', '$$').replace('#', '\\#').replace(' ', '\\ ')

    with open(path, 'w', encoding='utf-8') as file:
        file.write(f'{escaped(target)}: {" ".join(map(escaped, files))}\n')


def add_versions(preprocessor, packed):
    """Exits with 1 if the headers contradict the table, which is then updated to their versions."""
    rows = model.read_table(model.DRIVER, preprocessor, packed).rows
    told = versions.told_versions([row.name for row in rows], preprocessor.where('cuda.h'))
    if not told:
        sys.exit('generate_tables: these headers lack cudaTypedefs.h')
    for name in versions.add_released(packed, told):
        sys.exit(f'generate_tables: introduced.txt had another version of {name}')


def list_unknown(preprocessor, packed):
    for row in model.read_table(model.DRIVER, preprocessor, packed).rows:
        if row.introduced == 0:
            print(row.name)


def main():
    try:
        generate(parse_arguments())
    except declarations.Damaged as damage:
        sys.exit(f'generate_tables: {damage}')
    except OSError as reason:
        sys.exit(f'generate_tables: {reason.filename}: {reason.strerror}')


def generate(arguments):
    preprocessor = model.Preprocessor(arguments.compiler, arguments.include, arguments.style)
    if arguments.print_folder:
        print(preprocessor.where('cuda.h'))
        return
    packed = model.cuda_version(preprocessor)
    if arguments.add_versions:
        add_versions(preprocessor, packed)
        return
    if arguments.list_unknown:
        list_unknown(preprocessor, packed)
        return
    tables = [model.read_table(api, preprocessor, packed) for api in (model.DRIVER, model.RUNTIME)]
    report_left_out(tables, arguments.strict)
    os.makedirs(arguments.output, exist_ok=True)
    for table in tables:
        key = table.api.key
        write(arguments.output, f'{key}_headers.h', emit_headers.cuda_headers(table, packed))
        write(arguments.output, f'{key}_slots.h', emit_headers.slots_header(table, packed))
        write(arguments.output, f'{key}_slot_table.h', emit_headers.slot_table_header(table, packed))
        write(arguments.output, f'{key}_slot_table.inc', emit_sources.slot_table_source(table, packed))
        write(arguments.output, f'{key}_first_calls.h', emit_headers.first_calls_header(table, packed))
        write(arguments.output, f'{key}_table.hpp', emit_headers.table_header(table, packed))
        write(arguments.output, f'{key}_entries.hpp', emit_headers.entries_header(table, packed))
        write(arguments.output, f'{key}_rows.c', emit_sources.rows_source(table, packed))
        write(arguments.output, f'{key}_registry.c', emit_sources.registry_source(table, packed))
        for topic, text in emit_dropin.dropin_sources(table, packed).items():
            write(arguments.output, f'dropin_{key}_{topic}.c', text)
    write(arguments.output, 'entry_names.inc', emit_headers.entry_names(tables, packed))
    write(arguments.output, 'error_codes.inc',
          emit_sources.error_names_source(error_codes(preprocessor), packed))
    write(arguments.output, 'rows.json',
          rows_json(tables, packed, preprocessor.where('cuda.h')))
    if arguments.depfile:
        target = arguments.stamp or os.path.join(arguments.output, f'{tables[0].api.key}_headers.h')
        write_depfile(arguments.depfile, target,
                      [preprocessor.path(header) for table in tables for header in table.headers])
    if arguments.stamp:
        pathlib.Path(arguments.stamp).touch()


if __name__ == '__main__':
    main()
