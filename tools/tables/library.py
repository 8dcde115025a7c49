"""Reads the headers of a described library: its functions become the rows of a table."""

import os
import re

from . import declarations, emit_headers, emit_sources, model
from .description import RESULTS, Invalid

MAJOR_MARK = 'cushim_major_of_these_headers'
MAJOR_BITS = 20
# What the generated code itself calls so, besides names that begin with cushim. {table} is the class of the table.
OWN_NAMES = 'Result detail first name pfn slot {name}_library {table}Part[0-9]+'


def api_of(description, preprocessor):
    """The Api of a library, for headers that exist."""
    headers = find_headers(description, preprocessor)
    api = model.Api(key=description.name, table=description.name.capitalize() + 'Table',
                    header=headers[0], more_headers=headers[1:], prefix=description.functions,
                    status='', convention='', version_macro='', description=description)
    api.major = major_of(description, preprocessor, headers + description.words('major_header'))
    if description.needs_cuda(api.major):
        api.cuda = model.cuda_version(preprocessor) // 1000
    return api


def find_headers(description, preprocessor):
    """The required headers, and the optional ones that exist."""
    required = description.words('headers')
    folders = preprocessor.folders_of(required + description.words('optional') + description.words('major_header'))
    for header in required + description.words('major_header'):
        if folders[header] is None:
            places = preprocessor.folders + default_folders(preprocessor)
            where = ''.join(f'\n  {place}' for place in places) or " the compiler's include path"
            wheels = ' or '.join(description.words('wheels'))
            advice = f'\nThe wheel {wheels} has it: pip download --no-deps, and unzip' if wheels else ''
            raise Invalid(f'{header}, a header of {description.title}, was not found in:{where}{advice}')
    return [header for header in required + description.words('optional') if folders[header] is not None]


def default_folders(preprocessor):
    """The folders of the compiler's include path."""
    if preprocessor.style == 'msvc':
        return os.environ.get('INCLUDE', '').split(';')
    messages = preprocessor.messages(['-E', '-v', '-x', 'c++', '-'])
    match = re.search(r'> search starts here:\n(.*?)\nEnd of search list', messages, re.S)
    return [line.strip() for line in match[1].splitlines()] if match else []


def major_of(description, preprocessor, headers):
    """The value of the expression that is the major version of the headers; None without one."""
    expression = description.values.get('major')
    if expression is None:
        return None
    # In #if, a name that is not a macro is 0.
    plain = re.sub(r'\bdefined\s*\(?\s*\w+\s*\)?', '1', expression)
    after = preprocessor.run(headers, [], last=f'{MAJOR_MARK} {plain}\n').rsplit(MAJOR_MARK, 1)[-1].splitlines()
    value = ' '.join(line.strip() for line in after if not line.startswith('#')).strip()
    number = preprocessed_value(expression, preprocessor, headers)
    if number is None or any(declarations.is_name(word) for word in re.findall(r'[^\W\d]\w*|\d\w*', value)):
        raise Invalid(f'{description.path}:{description.lines["major"]}: {expression} is {value} in '
                      f'{headers[-1]}, which is not a version')
    return number


def preprocessed_value(expression, preprocessor, headers):
    """The value of an expression of #if from 0 to 2 ** MAJOR_BITS - 1, bit by bit; None for any other."""
    bits = ''.join(f'#if (({expression}) >> {bit}) & 1\n{MAJOR_MARK} {1 << bit}\n#endif\n'
                   for bit in range(MAJOR_BITS))
    test = f'#if ({expression}) >= 0 && ({expression}) < {1 << MAJOR_BITS}\n{MAJOR_MARK} 0\n{bits}#endif\n'
    try:
        text = preprocessor.run(headers, [], last=test)
    except declarations.Damaged:  # not an expression
        return None
    found = re.findall(rf'{MAJOR_MARK} (\d+)', text)
    return sum(map(int, found)) if found else None


def read_table(description, preprocessor):
    api = api_of(description, preprocessor)
    headers = [api.header] + api.more_headers
    views = {'plain': []}
    if 'macro' in description.values:
        views['macro'] = [description.values['macro']]
    rows, left_out, files, macros = {}, [], {}, {}
    inline, names, mentioned = {}, description.functions, set()
    for view, defined_macros in views.items():
        source = declarations.Source(preprocessor.run(headers, defined_macros))
        found = declarations.functions_of(source, names)
        files |= dict.fromkeys(source.file(index) for index, token in enumerate(source.tokens[1:])
                               if token in ('(', ')') and names.fullmatch(source.tokens[index]))
        inline |= found[1]
        model.unite(rows, left_out, view, api, (found[0], {}, found[2]))
        macros[view] = model.macros_in(preprocessor, headers, defined_macros)
        mentioned |= set(source.tokens) | macros[view]
    for row in rows.values():
        row.has_alias = False
        row.alias_taken = row.name + '_v1' in rows
        row.is_macro = row.bare and row.name in macros['plain'] and 'plain' not in row.views
    own = re.compile('cushim.*|' + OWN_NAMES.format(name=description.name, table=api.table).replace(' ', '|'))
    for name, called in inline.items():
        if called in rows and name not in rows and not own.fullmatch(name):
            rows[called].inline_names.append(name)
    for row in list(rows.values()):
        if own.fullmatch(row.name):
            left_out.append(f'{row.name} [cushim uses this name itself]')
            del rows[row.name]
            continue
        if row.function.result == 'void':
            continue
        description.result('missing', row.function)
        if description.result('absent', row.function) is None:
            left_out.append(f'{row.name} [{os.path.basename(description.path)} has no line '
                            f'"absent {row.function.result} = ..."]')
            del rows[row.name]
    if not rows:
        raise Invalid('\n'.join([f'{description.path}:{description.lines["functions"]}: {", ".join(headers)} '
                                 'declare no function with such a name', *left_out[:3]]))
    for name in filter(model.RUNTIME.prefix.fullmatch, rows):
        raise Invalid(f'{description.path}:{description.lines["functions"]}: {name} is a function of the CUDA runtime')
    if description.name in set().union(*macros.values()):
        raise Invalid(f'{description.path}:1: {description.name} cannot be the name of a library: it is a macro')
    if not description.is_shipped:  # those are for many versions of the headers, and tested
        check_functions(description, headers, mentioned)
    may_be_macros = model.set_apart(rows, set().union(*macros.values()))
    return model.Table(api, list(rows.values()), left_out, [], headers, sorted(may_be_macros), [],
                       list(files))


def check_functions(description, headers, mentioned):
    """Refuses functions of the description whose names the headers do not mention."""
    for key in ('required', 'version'):
        function = ''.join(description.words(key)[:1])
        if function and function not in mentioned:
            raise Invalid(f'{description.path}:{description.lines[key]}: {", ".join(headers)} '
                          f'declare no function {function}')


def check_code(table, preprocessor):
    """Refuses a line whose generated code does not compile. For the compiler, this code is in that line."""
    description = table.api.description
    done = preprocessor.compile(table.headers + description.words('major_header'), code_to_check(table))
    if done.returncode == 0:
        return
    error = model.first_error(done)
    found = re.match(rf'{re.escape(description.path)}[:(](\d+)[\d:),]* *(?:\w+ ?\w*: *)?(.*)', error)
    number = int(found[1]) if found else 0
    key = next((key for key, line in description.lines.items() if line == number), 'headers')
    if key in description.results:
        line = f'{" ".join(key)} = {description.results[key]}'
    else:
        line = f'{key} = {description.values[key]}'
    raise Invalid(f'{description.path}:{description.lines[key]}: the code for "{line}" does not compile: '
                  + (found[2] if found else error))


def code_to_check(table):
    """The parts of the generated code that a description can spoil: the check of the version, the types of the
    functions, and their results. Those that call cushim are omitted: its headers are not known here."""
    description = table.api.description
    lines = description.lines

    def at(key, text):
        return f'#line {lines[key]} {emit_sources.c_string(description.path)}\n{text}\n'

    code = '#include <stddef.h>\nstatic const char *cushim_explanation;\n'
    code += ''.join(f'#undef {macro}\n' for macro in table.macros)
    if table.api.major is not None:
        code += (f'#if ({description.values["major"]}) != {table.api.major}\n' +
                 at('major', '#error it has another value in other files') + '#endif\n')
    for number, row in enumerate(table.rows):
        function = row.function
        head = f'static {function.result} cushim_check{number}_{{}}({emit_headers.parameters(function)})'
        shown_by = 'functions' if 'plain' in row.views else 'macro'
        code += at(shown_by, head.format('type') + (' {}' if function.result == 'void' else ';'))
        keys = [description.result_key(case, function) for case in RESULTS if function.result != 'void']
        for key in dict.fromkeys(keys):
            value = description.results[key]
            if 'cushim' not in value:
                value = 'cushim_explanation' if value == 'explanation' else value
                code += at(key, f'{head.format(key[0])} {{ return {value}; }}')
    return code
