"""Generates the sources of cushim-core: slots with their first-call thunks, the registry, error names."""

import re

from .emit_headers import NOTICE, arguments, parameters, types, version_text

# Rows that do more than return a status if they cannot be forwarded: src/loader/absent_driver.hpp and
# absent_runtime.hpp.
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


def thunk(api, row):
    name, function = row.name, row.function
    quiet = '_quiet' if name in QUIET else ''
    if name in ANSWERED:
        more = ', ' + arguments(function) if function.parameters else ''
        absent = f'return cushim::absent::{name}(cushim_status{more});'
        # The library is present but lacks this function. Statuses still have names.
        if function.result == api.status and name not in NAMES_STATUSES:
            absent = (f'if (cushim_is_missing(cushim_status)) '
                      f'return static_cast<{api.status}>(cushim_status); ') + absent
    elif function.result == api.status:
        absent = f'return static_cast<{api.status}>(cushim_status);'
    elif function.result == 'void':
        absent = 'return;'
    else:
        absent = 'return {};'
    return first_call(api, row, f'cushim_first_call_{api.key}{quiet}(', absent)


def first_call(api, row, call, unavailable):
    """The thunk and the slot of a row. `call`: the beginning of the call that resolves it; `unavailable`:
    statements for a result other than 0, which is in cushim_status."""
    name, function = row.name, row.function
    ret = '' if function.result == 'void' else 'return '
    # alignas: compilers align long texts to 16 or 32 bytes, which costs 10 KB for all rows.
    return (f'alignas(1) extern const char cushim_row_{name}[] = {row_literal(row)};\n'
            f'{function.result} {api.convention} cushim_first_{name}({parameters(function)}) {{\n'
            f'    const int cushim_status = {call}CUSHIM_SLOT({name}), CUSHIM_FUNCTION(&cushim_first_{name}), cushim_row_{name});\n'
            f'    if (cushim_status != 0) [[unlikely]] {{ {unavailable} }}\n'
            f'    {ret}CUSHIM_LOAD_SLOT(cushim_slot_{name})({arguments(function)});\n'
            f'}}\n'
            f'{function.result} ({api.convention} *cushim_slot_{name})({types(function)}) = cushim_first_{name};\n')


def rows_source(table, packed):
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    text += f'#include <cushim/detail/{api.key}_entries.hpp>\n#include "first_call.hpp"\n'
    if any(r.name in ANSWERED for r in table.rows):
        text += f'#include "absent_{api.key}.hpp"\n'
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    return text + 'extern "C" {\n' + ''.join(thunk(api, r) for r in table.rows) + '}\n'


def registry_source(table, packed):
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    text += f'#include <cushim/detail/{api.key}_entries.hpp>\n#include "registry.hpp"\n'
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    text += visitor(table, f'void cushim::visit_{api.key}_rows(RowVisitor visit, void *user)')
    return text + f'const char *const *cushim::{api.key}_left_out() {{ return {api.key}_omitted; }}\n'


def visitor(table, signature):
    """One call per row instead of an array of pointers, which would need relocations; and the declarations
    that were left out."""
    text = 'extern "C" {\n' + ''.join(
        f'extern const char cushim_row_{row.name}[];\n' for row in table.rows) + '}\n'
    text += signature + ' {\n'
    for row in table.rows:
        text += (f'    visit(user, CUSHIM_SLOT({row.name}), '
                 f'CUSHIM_FUNCTION(&cushim_first_{row.name}), cushim_row_{row.name});\n')
    text += '}\n'
    left_out = ''.join(f'    {c_string(entry)},\n' for entry in table.left_out)
    return text + f'static const char *const {table.api.key}_omitted[] = {{\n{left_out}    nullptr}};\n'


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
        text += f'static constexpr Code {key}_codes[] = {{\n'
        offset, blob = 0, []
        for value, name in entries:
            words = error_words(name)
            text += f'    {{{value}, {offset}, {offset + len(name) + 1}}},\n'
            blob += [name, words]
            offset += len(name) + len(words) + 2
        text += '};\n' + f'static constexpr char {key}_texts[] =\n'
        text += ''.join(f'    "{part}\\0"\n' for part in blob) + ';\n'
    return text
