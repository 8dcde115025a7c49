"""Generates the drop-in, in C11: a definition of every entry point under its exported name.

Each topic is a source, and so a member of the archive: topics.txt.
"""

import pathlib
import re

from .emit_headers import NOTICE, arguments, parameters, slot_declaration, version_text

OLDER = 'older'


def topics():
    """The pattern of each topic."""
    lines = pathlib.Path(__file__).with_name('topics.txt').read_text(encoding='utf-8').splitlines()
    parts = [line.partition(' ') for line in lines if not line.startswith('#')]
    return {topic: re.compile(pattern) for topic, _, pattern in parts}


def topic_of(row, patterns):
    if set(row.views).isdisjoint(('plain', 'per_thread')):
        return OLDER
    name = re.sub('^cu(da)?', '', row.name)
    return next(topic for topic, pattern in patterns.items() if pattern.match(name))


def definition(api, row):
    """The slot has the function's own type, so that this can be a single jump."""
    function = row.function
    ret = '' if function.result == 'void' else 'return '
    version = f'CUSHIM_GIVE_VERSION({row.name})\n' if api.key == 'runtime' else ''
    return (f'{function.result} {api.convention} {row.name}({parameters(function) or "void"}) {{\n'
            f'    {ret}CUSHIM_FORWARD(cushim_slot_{row.name})({arguments(function)});\n}}\n'
            f'{version}')


def dropin_sources(table, packed):
    """The text of each topic."""
    patterns = topics()
    return {topic: dropin_source(table, packed, [row for row in table.rows if topic_of(row, patterns) == topic])
            for topic in patterns}


def dropin_source(table, packed, rows):
    """Includes the headers in the plain view: the compiler checks definitions against their declarations,
    and names that they rename or hide are defined as the libraries export them."""
    api = table.api
    text = NOTICE.format(version=version_text(packed)).replace('#pragma once\n', '')
    # A project may define it for all of its sources; each function is defined under its own name.
    text += '#undef CUDA_API_PER_THREAD_DEFAULT_STREAM\n'
    text += f'#include <cushim/detail/{api.key}_headers.h>\n#include "dropin.h"\n'
    text += ''.join(f'#undef {row.name}\n' for row in rows if row.name in table.macros)
    text += ''.join(f'struct {tag};\n' for tag in table.forward_declared)
    return text + ''.join(slot_declaration(api, row) + definition(api, row) for row in rows)
