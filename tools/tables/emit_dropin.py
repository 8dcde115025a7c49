"""Generates the drop-in: a definition of every entry point under its exported name, in C11 and C++20."""

from .emit_headers import NOTICE, arguments, extern_c, parameters, version_text


def definition(api, row):
    """The slot has the function's own type, so that this can be a single jump."""
    function = row.function
    ret = '' if function.result == 'void' else 'return '
    version = f'CUSHIM_GIVE_VERSION({row.name})\n' if api.key == 'runtime' else ''
    return (f'{function.result} {api.convention} {row.name}({parameters(function) or "void"}) {{\n'
            f'    {ret}CUSHIM_FORWARD(cushim_slot_{row.name})({arguments(function)});\n}}\n'
            f'{version}')


def dropin_source(table, packed):
    """Includes the headers in the plain view: the compiler checks definitions against their declarations,
    and names that they rename or hide are defined as the libraries export them."""
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    # A project may define it for all of its sources; each function is defined under its own name.
    text += '#undef CUDA_API_PER_THREAD_DEFAULT_STREAM\n'
    text += f'#include <cushim/detail/{api.key}_slots.h>\n#include "dropin.h"\n'
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    return text + extern_c(''.join(definition(api, r) for r in table.rows))
