"""Reads the headers of a described library: its functions become the rows of a table."""

import os
import re

from . import declarations, model
from .description import Invalid

MAJOR_MARK = 'cushim_major_of_these_headers'
MAJOR_BITS = 20


def api_of(description, preprocessor):
    """The Api of a library, for headers that exist."""
    headers = find_headers(description, preprocessor)
    api = model.Api(key=description.name, table=description.name.capitalize() + 'Table',
                    header=headers[0], more_headers=headers[1:], prefix=description.functions,
                    status='', convention='', version_macro='', description=description)
    api.major = major_of(description, preprocessor, headers)
    if description.needs_cuda(api.major):
        api.cuda = model.cuda_version(preprocessor) // 1000
    return api


def find_headers(description, preprocessor):
    """The required headers, and the optional ones that exist."""
    required = description.words('headers')
    folders = preprocessor.folders_of(required + description.words('optional'))
    for header in required:
        if folders[header] is None:
            places = preprocessor.folders + default_folders(preprocessor)
            where = ''.join(f'\n  {place}' for place in places) or " the compiler's include path"
            raise Invalid(f'{header}, a header of {description.title}, was not found in:{where}')
    return [header for header, folder in folders.items() if folder is not None]


def default_folders(preprocessor):
    """The folders of the compiler's include path."""
    if preprocessor.style == 'msvc':
        return os.environ.get('INCLUDE', '').split(';')
    messages = preprocessor.messages(['-E', '-v', '-x', 'c++', '-'])
    match = re.search(r'> search starts here:\n(.*?)\nEnd of search list', messages, re.S)
    return [line.strip() for line in match[1].splitlines()] if match else []


def major_of(description, preprocessor, headers):
    """The value of the expression that is the major version of the headers; 0 without one."""
    expression = description.values.get('major')
    if expression is None:
        return 0
    number = preprocessed_value(expression, preprocessor, headers)
    if number == 0:
        text = preprocessor.run(headers, [], last=f'{MAJOR_MARK} {expression}\n')
        after = text.rsplit(MAJOR_MARK, 1)[-1].splitlines()
        value = ' '.join(line.strip() for line in after if not line.startswith('#')).strip()
        raise Invalid(f'{description.path}:{description.lines["major"]}: {expression} is {value} in '
                      f'{headers[0]}, which is not a version')
    return number


def preprocessed_value(expression, preprocessor, headers):
    """The value of an expression of #if from 1 to 2 ** MAJOR_BITS - 1, bit by bit; 0 for any other."""
    bits = ''.join(f'#if (({expression}) >> {bit}) & 1\n{MAJOR_MARK} {1 << bit}\n#endif\n'
                   for bit in range(MAJOR_BITS))
    test = f'#if ({expression}) > 0 && ({expression}) < {1 << MAJOR_BITS}\n{bits}#endif\n'
    try:
        text = preprocessor.run(headers, [], last=test)
    except declarations.Damaged:  # not an expression
        return 0
    return sum(int(bit) for bit in re.findall(rf'{MAJOR_MARK} (\d+)', text))


def read_table(description, preprocessor):
    api = api_of(description, preprocessor)
    headers = [api.header] + api.more_headers
    views = {'plain': []}
    if 'macro' in description.values:
        views['macro'] = [description.values['macro']]
    rows, left_out, read, macros = {}, [], [], {}
    inline, names, mentioned = {}, description.functions, set()
    for view, defined_macros in views.items():
        text = preprocessor.run(headers, defined_macros)
        files = files_with(text, description)
        read += [file for file in files if file not in read]
        found = declarations.functions_of(
            declarations.text_of_headers(text, {os.path.basename(f) for f in files}.__contains__),
            names)
        inline.update(found[1])
        model.unite(rows, left_out, view, api, (found[0], {}, found[2]))
        macros[view] = model.macros_in(preprocessor, headers, defined_macros)
        mentioned |= set(re.findall(r'\w+', text)) | macros[view]
    for row in rows.values():
        row.has_alias = False
        row.alias_taken = row.name + '_v1' in rows
        row.is_macro = row.bare and row.name in macros['plain'] and 'plain' not in row.views
    for name, called in inline.items():
        if called in rows and name not in rows:
            rows[called].inline_names.append(name)
    for row in list(rows.values()):
        if row.function.result == 'void':
            continue
        description.result('missing', row.function)
        if description.result('absent', row.function) is None:
            left_out.append(f'{row.name} [{os.path.basename(description.path)} has no line '
                            f'"absent {row.function.result} = ..."]')
            del rows[row.name]
    if not rows:
        raise Invalid(f'{description.path}:{description.lines["functions"]}: {", ".join(headers)} '
                      'declare no function with such a name')
    if not description.is_shipped:  # those are for many versions of the headers, and tested
        check_functions(description, headers, mentioned)
    members = {m for row in rows.values() for m in [row.name] + row.members}
    may_be_macros = members & set().union(*macros.values())
    may_be_macros |= {row.name for row in rows.values() if row.bare}
    return model.Table(api, list(rows.values()), left_out, [], headers, sorted(may_be_macros), [],
                       read)


def check_functions(description, headers, mentioned):
    """Refuses functions of the description whose names the headers do not mention."""
    for key in ('required', 'version'):
        function = ''.join(description.words(key)[:1])
        if function and function not in mentioned:
            raise Invalid(f'{description.path}:{description.lines[key]}: {", ".join(headers)} '
                          f'declare no function {function}')


def files_with(preprocessed, description):
    """The files of a preprocessed text that mention one of the names before a parenthesis."""
    # Most lines are of other headers, and a search for the beginnings of names is fast.
    beginning = re.compile('|'.join(re.escape(b) for b in description.beginnings))
    found, file = {}, ''
    for line in preprocessed.split('\n'):
        if line.startswith('#'):
            marker = declarations.LINE_MARKER.match(line)
            file = marker['file'].replace('\\\\', '/') if marker else file
        elif file not in found and beginning.search(line) and any(
                description.functions.fullmatch(word)
                for word in re.findall(r'\w+(?=\s*[()])', line)):
            found[file] = True
    return list(found)
