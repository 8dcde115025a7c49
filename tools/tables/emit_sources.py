"""Generates the sources of cushim-core, in C11: slots with their first-call functions, the registry, error names."""

import re

from .emit_headers import NOTICE, arguments, parameters, symbol, types, version_text

# Rows that do more than return a status if they cannot be forwarded: src/loader/absent_driver.h and
# absent_runtime.h.
ANSWERED = {
    'cuGetErrorName', 'cuGetErrorString',
    'cudaGetErrorName', 'cudaGetErrorString', 'cudaGetLastError', 'cudaPeekAtLastError',
    'cudaGetDeviceCount', 'cudaDriverGetVersion', 'cudaRuntimeGetVersion', 'cudaCreateChannelDesc',
}
NAMES_STATUSES = {'cuGetErrorName', 'cuGetErrorString'}
# Of these, the rows that succeed without the library and therefore leave cudaGetLastError unchanged.
QUIET = {'cudaGetErrorName', 'cudaGetErrorString', 'cudaGetLastError', 'cudaPeekAtLastError',
         'cudaDriverGetVersion', 'cudaRuntimeGetVersion', 'cudaCreateChannelDesc'}


def row_literal(row):
    high, low = row.introduced >> 8, row.introduced & 255
    return f'"\\{high:03o}\\{low:03o}" "{row.name}"'


def row_source(api, row):
    name, function = row.name, row.function
    quiet = '_quiet' if name in QUIET else ''
    if name in ANSWERED:
        more = ', ' + arguments(function) if function.parameters else ''
        absent = f'return cushim_absent_{name}(cushim_status{more});'
        # The library is present but lacks this function. Statuses still have names.
        if function.result == api.status and name not in NAMES_STATUSES:
            absent = (f'if (cushim_is_missing(cushim_status)) '
                      f'return ({api.status})cushim_status; ') + absent
    elif function.result == api.status:
        absent = f'return ({api.status})cushim_status;'
    elif function.result == 'void':
        absent = 'return;'
    else:
        absent = f'static {function.result} cushim_none; return cushim_none;'
    return first_call(api, row, f'cushim_first_call_{api.key}{quiet}(', absent)


def first_call(api, row, call, unavailable):
    """The first-call function of a row. `call`: the beginning of the call that resolves it; `unavailable`:
    statements for a result other than 0, which is in cushim_status."""
    name, function = symbol(api, row), row.function
    ret = '' if function.result == 'void' else 'return '
    return (f'CUSHIM_ROW({name}, {row_literal(row)});\n'
            f'{function.result} {api.convention} cushim_first_{name}({parameters(function) or "void"}) {{\n'
            f'    const int cushim_status = {call}CUSHIM_SLOT({name}), CUSHIM_FIRST_CALL({name}), cushim_row_{name});\n'
            f'    if (CUSHIM_UNLIKELY(cushim_status != 0)) {{ {unavailable} }}\n'
            f'    {ret}CUSHIM_LOAD_SLOT(cushim_slot_{name})({arguments(function)});\n'
            f'}}\n')


def slot(api, row):
    function = row.function
    return (f'{function.result} ({api.convention} *cushim_slot_{symbol(api, row)})({types(function)}) = '
            f'cushim_first_{symbol(api, row)};\n')


def slot_table_source(table, packed):
    """All slots in one object, with a symbol for each. Part of the rows of a shared library."""
    name = f'cushim_slots_{table.api.key}'
    text = NOTICE.format(version=version_text(packed)) + f'struct {name} {name} = {{\n'
    text += ''.join(f'    .{row.name} = cushim_first_{row.name},\n' for row in table.rows) + '};\n'
    return text + ''.join(f'CUSHIM_NAME_SLOT({name}, {row.name}, {index})\n' for index, row in enumerate(table.rows))


def rows_source(table, packed):
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    text += f'#include <cushim/detail/{api.key}_first_calls.h>\n#include "first_call.h"\n'
    if any(r.name in ANSWERED for r in table.rows):
        text += f'#include "absent_{api.key}.h"\n'
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    text += ''.join(row_source(api, r) for r in table.rows)
    slots = ''.join(slot(api, r) for r in table.rows)
    return text + f'#ifdef CUSHIM_SLOT_TABLE\n#include "{api.key}_slot_table.inc"\n#else\n{slots}#endif\n'


def registry_source(table, packed):
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    text += (f'#include <cushim/detail/{api.key}_first_calls.h>\n#include <cushim/detail/rows.h>\n'
             '#include "registry.h"\n')
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    text += row_declarations(table)
    return text + visitor(table, f'void cushim_visit_{api.key}_rows(cushim_row_visitor visit, void *user)',
                          f'const char *const cushim_{api.key}_left_out[]')


def row_declarations(table):
    return ''.join(f'extern const char cushim_row_{symbol(table.api, row)}[];\n' for row in table.rows)


def visitor(table, signature, left_out):
    """A function with one call per row instead of an array of pointers, which would need relocations; and an
    array of the declarations that were left out."""
    text = signature + ' {\n'
    for row in table.rows:
        name = symbol(table.api, row)
        text += f'    visit(user, CUSHIM_SLOT({name}), CUSHIM_FIRST_CALL({name}), cushim_row_{name});\n'
    text += '}\n'
    omitted = ''.join(f'    {c_string(entry)},\n' for entry in table.left_out)
    return text + f'{left_out} = {{\n{omitted}    NULL}};\n'


def c_string(text):
    return '"' + text.replace('\\', '\\\\').replace('"', '\\"').replace('??', '?\\?') + '"'


def error_words(name):
    """CUDA_ERROR_OUT_OF_MEMORY, cudaErrorMemoryAllocation: 'out of memory', 'memory allocation'."""
    if name.startswith('CUDA_'):
        return re.sub(r'^CUDA_(ERROR_)?', '', name).replace('_', ' ').lower()
    words = re.sub(r'^cuda(Error)?', '', name)
    return re.sub(r'(?<=[a-z])(?=[A-Z0-9])|(?<=[A-Z])(?=[A-Z][a-z])', ' ', words).lower()


def error_codes(text, prefix):
    """(name, value) of the enumerators with this prefix, each value once, in order."""
    found = {}
    for name, value in re.findall(rf'\b({prefix}\w+)\s*=\s*(0x[0-9a-fA-F]+|\d+)', text):
        found.setdefault(int(value, 0), name)
    return sorted((value, name) for value, name in found.items())


def error_names_source(codes, packed):
    """Lists of {status, name, description}, without pointers so that they need no relocations."""
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    for key, entries in codes.items():
        text += f'static const Code {key}_codes[] = {{\n'
        offset, blob = 0, []
        for value, name in entries:
            words = error_words(name)
            text += f'    {{{value}, {offset}, {offset + len(name) + 1}}},\n'
            blob += [name, words]
            offset += len(name) + len(words) + 2
        text += '};\n' + f'static const char {key}_texts[] =\n'
        text += ''.join(f'    "{part}\\0"\n' for part in blob) + ';\n'
    return text
