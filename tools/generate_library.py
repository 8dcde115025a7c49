#!/usr/bin/env python3
"""Generates the table and the drop-in of a library from its description and its headers.

    generate_library.py --output DIR [--include DIR] [--strict] LIBRARY -- c++ [flags]

LIBRARY is the name of a library that cushim describes (--list prints them) or the path of a description
of your own, a file NAME.txt. Writes NAME_library.h, NAME_table.hpp, NAME_entry.hpp, NAME_loadable.cpp,
NAME_rows.cpp, NAME_registry.cpp, NAME_dropin.cpp, and NAME_rows.json, which lists the functions. The format
of descriptions: tables/README.md.
"""

import argparse
import json
import os
import sys

import generate_tables
from tables import declarations, description, emit_library, library, model


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    job = parser.add_mutually_exclusive_group(required=True)
    job.add_argument('--output', help='folder to write to')
    job.add_argument('--probe', action='store_true',
                     help='only find the headers: print the folder of the first one')
    job.add_argument('--link-name', action='store_true',
                     help='print the name for -l on Linux; an empty line if it has none')
    job.add_argument('--links', action='store_true',
                     help='print the names of the libraries whose drop-ins its drop-in brings')
    job.add_argument('--list', action='store_true', help='print the names of the described libraries')
    parser.add_argument('--include', action='append', default=[], help='folder of headers')
    parser.add_argument('--style', choices=['gcc', 'msvc'], default='gcc',
                        help="command-line syntax of the compiler")
    parser.add_argument('--depfile', help='file for the list of files that were read, for the build')
    parser.add_argument('--strict', action='store_true',
                        help='fail on a declaration that is not understood, instead of omitting it, and on '
                        'lines of a description of your own that no function needs')
    parser.add_argument('library', nargs='?', help='a name, or the path of a description; after it, '
                        '-- and the compiler command')
    own = sys.argv[1:]
    end = own.index('--') if '--' in own else len(own)
    arguments = parser.parse_args(own[:end])
    arguments.compiler = own[end + 1:]
    if not arguments.list and not (arguments.library and (
            arguments.compiler or arguments.link_name or arguments.links)):
        parser.error('LIBRARY -- COMPILER is missing')
    return arguments


def rows_json(table):
    api = table.api

    def row_facts(row):
        results = {} if row.function.result == 'void' else {
            case: api.description.result(case, row.function) for case in ('absent', 'missing')}
        return generate_tables.row_facts(row) | results

    return json.dumps({
        'name': api.key, 'title': api.title, 'major': api.major, 'headers': table.headers,
        'files': table.files, 'required': api.description.values['required'],
        'functions': api.prefix.pattern, 'left_out': table.left_out,
        'rows': [row_facts(row) for row in table.rows]}, indent=1)


def write_depfile(path, output, table):
    folder = os.path.dirname(os.path.abspath(__file__))
    own = [os.path.join(folder, 'tables', file) for file in sorted(os.listdir(f'{folder}/tables'))
           if file.endswith('.py')]
    files = [table.api.description.path, *table.files, os.path.abspath(__file__), *own]
    generate_tables.write_depfile(path, os.path.join(output, f'{table.api.key}_library.h'), files)


def generate(arguments):
    described = description.read(description.path_of(arguments.library))
    if arguments.link_name:
        print(described.link_name)
        return
    if arguments.links:
        print('\n'.join(described.words('links')))
        return
    preprocessor = model.Preprocessor(arguments.compiler, arguments.include, arguments.style)
    if arguments.probe:
        print(preprocessor.where(library.find_headers(described, preprocessor)[0]))
        return
    table = library.read_table(described, preprocessor)
    if not described.is_shipped:  # as in read_table
        library.check_code(table, preprocessor)
    report_unused(table, arguments.strict)
    generate_tables.report_left_out([table], arguments.strict)
    try:
        write_files(arguments, table)
    except OSError as reason:
        sys.exit(f'generate_library: {reason.filename} cannot be written: {reason.strerror}')


def report_unused(table, strict):
    """Reports lines of a description of one's own without effect. Those of cushim are for many versions of
    the headers, whose functions differ."""
    described = table.api.description
    unused = [] if described.is_shipped else described.unused_results()
    for place, line in unused:
        message = f'{place}: no function of {", ".join(table.headers)} needs the line "{line} = ..."'
        print(f'generate_library: {"" if strict else "warning: "}{message}', file=sys.stderr)
    if unused and strict:
        sys.exit(1)


def write_files(arguments, table):
    os.makedirs(arguments.output, exist_ok=True)
    for name, text in emit_library.files_of(table).items():
        generate_tables.write(arguments.output, name, text)
    generate_tables.write(arguments.output, f'{table.api.key}_rows.json', rows_json(table))
    if arguments.depfile:
        write_depfile(arguments.depfile, arguments.output, table)


def main():
    arguments = parse_arguments()
    if arguments.list:
        print('\n'.join(description.shipped()))
        return
    try:
        generate(arguments)
    except (declarations.Damaged, description.Invalid) as reason:
        sys.exit(f'generate_library: {reason}')


if __name__ == '__main__':
    main()
