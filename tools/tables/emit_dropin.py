"""Writes the drop-in: every entry point defined under its real exported name."""

from .emit_headers import NOTICE, arguments, parameters, version_text


def definition(api, row):
    """The slot's type is the function's own, so that this can be one jump."""
    function = row.function
    ret = '' if function.result == 'void' else 'return '
    version = f'CUSHIM_GIVE_VERSION({row.name});\n' if api.key == 'runtime' else ''
    return (f'{function.result} {api.convention} {row.name}({parameters(function)}) {{\n'
            f'    {ret}CUSHIM_FORWARD(cushim_slot_{row.name})({arguments(function)});\n}}\n'
            f'{version}')


def dropin_source(table, packed):
    """The headers are here in the plain view: what they declare is held against the definitions, and
    what they rename or hide is defined under the name that the libraries export."""
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    text += f'#include <cushim/{api.key}_table.hpp>\n#include "forward.hpp"\n'
    text += ''.join(f'#undef {macro}\n' for macro in table.macros)
    return text + 'extern "C" {\n' + ''.join(definition(api, r) for r in table.rows) + '}\n'
