#!/usr/bin/env python3
"""Lists the enums and owners that the public headers declare, read from their text.

usage: public_types.py OUTPUT HEADER...

Writes a header that lists them: PUBLIC_ENUMERATORS(M) calls M(enum, enumerator) for each, PUBLIC_OWNERS(M)
M(name, type), where the type of a template has an argument.
"""

import pathlib
import re
import sys

# Classes that look like owners but have no to_text().
NO_OWNERS = {
    'ContextScope',          # a scope without a handle
    'DevicePitchedSpan',     # a view
    'Error',                 # has message()
    'Exception',             # has what()
    'ExternalMemorySource',  # an argument: its fd() has to_text()
    'GraphAllocation',       # an address without an owner
    'GraphDependencies',     # a list of nodes
    'HostPitchedSpan',       # a view
    'JitLog',                # a text
    'Result',                # its value or error has to_text()
    'ScopedOverride',        # a scope without a handle
}


def public_text(path):
    """A header without comments, preprocessor lines and namespace detail."""
    text = pathlib.Path(path).read_text(encoding='utf-8')
    text = re.sub(r'/\*.*?\*/|//[^\n]*', '', text, flags=re.DOTALL)
    text = re.sub(r'^\s*#(?:[^\n]*\\\n)*[^\n]*$', '', text, flags=re.MULTILINE)
    parts = []
    while (match := re.search(r'\bnamespace (?:cushim::)?detail \{', text)) is not None:
        parts.append(text[:match.start()])
        text = text[block_end(text, match.end()):]
    return ''.join(parts) + text


def block_end(text, begin):
    """The position after the brace that closes the block open at `begin`."""
    depth = 1
    for match in re.finditer(r'[{}]', text[begin:]):
        depth += 1 if match.group() == '{' else -1
        if depth == 0:
            return begin + match.end()
    raise ValueError('missing closing brace')


def enums(paths):
    """The enumerators of each enum class."""
    found = {}
    for path in paths:
        for name, body in re.findall(r'\benum class (\w+)[^{;]*\{([^}]*)\}', public_text(path)):
            found[name] = re.findall(r'(\w+)\s*(?:=[^,]*)?(?:,|$)', body.strip())
    return found


def owners(paths):
    """Name and type of the classes with a destructor, a base class or an owning member: the owners and
    NO_OWNERS."""
    found = {}
    for path in paths:
        text = public_text(path)
        for match in re.finditer(r'^(template <.*>\n)?class (?:\[\[nodiscard\]\] |CUSHIM_API )*(\w+)([^{};]*)\{',
                                 text, re.MULTILINE):
            template, name, base = match.groups()
            body = text[match.end():block_end(text, match.end())]
            if ':' in base or re.search(rf'~{name}\(|\bdetail::\w+Memory \w+;|\bUniqueFd \w+;', body):
                argument = 'void()' if '<void(' in base else 'int'
                found[name] = f'{name}<{argument}>' if template else name
    return found


def macro(name, rows):
    return f'#define {name}(M)' + ''.join(f' \\\n    M({row})' for row in rows) + '\n'


def main():
    output, *headers = sys.argv[1:]
    enumerators = [f'{name}, {enumerator}'
                   for name, names in sorted(enums(headers).items()) for enumerator in names]
    owning = [f'{name}, {kind}' for name, kind in sorted(owners(headers).items()) if name not in NO_OWNERS]
    pathlib.Path(output).write_text('#pragma once\n\n' + macro('PUBLIC_ENUMERATORS', enumerators) + '\n' +
                                    macro('PUBLIC_OWNERS', owning), encoding='utf-8')


if __name__ == '__main__':
    main()
