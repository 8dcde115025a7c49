#!/usr/bin/env python3
"""Lists the enums, owners and functions that the public headers declare, read from their text.

usage: public_types.py OUTPUT HEADER...

Writes a header that lists them: PUBLIC_ENUMERATORS(M) calls M(enum, enumerator) for each, PUBLIC_OWNERS(M)
M(name, type), where the type of a template has an argument, and PUBLIC_FUNCTIONS(M) M(name) for the functions that
return a Result: Stream::synchronize, copy.
"""

import pathlib
import re
import sys

import changed_file

# Classes that look like owners but have no to_text().
NO_OWNERS = {
    'ContextScope',          # a scope without a handle
    'DevicePitchedSpan',     # a view
    'Error',                 # has message()
    'Exception',             # has what()
    'ExternalMemorySource',  # an argument: its fd() has to_text()
    'GraphAllocation',       # an address without an owner
    'HostPitchedSpan',       # a view
    'Result',                # its value or error has to_text()
    'ScopedOverride',        # a scope without a handle
}


def code(path):
    """A header without comments and preprocessor lines."""
    text = pathlib.Path(path).read_text(encoding='utf-8')
    text = re.sub(r'/\*.*?\*/|//[^\n]*', '', text, flags=re.DOTALL)
    return re.sub(r'^\s*#(?:[^\n]*\\\n)*[^\n]*$', '', text, flags=re.MULTILINE)


def public_text(path):
    """A header's code without what is in namespace detail."""
    text = code(path)
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


def functions(paths):
    """The names of the functions that return a Result, with their class; not the members of Result. A class also
    has those of TypedBuffer, and of its base in namespace detail, if that has no other class, or is a template of
    the class."""
    heirs = {}  # of TypedBuffer and the classes in namespace detail
    for path in paths:
        for name, bases in re.findall(r'\bclass (\w+)[^;:{}]*:([^;{}]*)\{', public_text(path)):
            for base, argument in re.findall(r'public (?:detail::(?=\w)|(?=TypedBuffer))(\w+)(<\w+>)?', bases):
                heirs.setdefault(base, []).append((name, argument == f'<{name}>'))
    found = set()
    for path in [*paths, *pathlib.Path(paths[0]).parent.glob('detail/*.hpp')]:
        for outer, name in functions_in(code(path)):
            base = outer.removeprefix('detail::')
            if base == outer != 'TypedBuffer':
                found.add(f'{outer}::{name}'.removeprefix('::'))
            for heir, is_argument in heirs.get(base, []):
                if base == 'TypedBuffer' or base != outer and (is_argument or len(heirs[base]) == 1):
                    found.add(f'{heir}::{name}')
    return sorted(name for name in found if not name.startswith(('detail::', 'Result::')))


def functions_in(text):
    """Class and name of the functions that return a Result, without cushim::"""
    names = {}  # of the classes, by the ranges of their bodies
    for match in re.finditer(r'(?<!<)(?<!, )\b(?:class|struct|namespace) (?:\[\[nodiscard\]\] |CUSHIM_API )*(\w+(?:::\w+)*)'
                             r'[^;{}]*\{', text):
        names[match.end(), block_end(text, match.end())] = match.group(1)
    for match in re.finditer(r'\bResult<[^;={}]*?>\s+(\w+)\(', text):
        outer = '::'.join(name for (begin, end), name in names.items() if begin <= match.start() < end)
        access = text[:match.start()]
        inner = max((span for span in names if span[0] <= match.start() < span[1]), default=(0, 0))
        sections = re.findall(r'\b(public|private|protected):', without_blocks(access[inner[0]:]))
        if not sections or sections[-1] == 'public':
            yield outer.removeprefix('cushim').removeprefix('::'), match.group(1)


def without_blocks(text):
    """Without what is in braces, so that the sections of a class before a free function do not count."""
    while (shorter := re.sub(r'\{[^{}]*\}', '', text)) != text:
        text = shorter
    return text


def macro(name, rows):
    return f'#define {name}(M)' + ''.join(f' \\\n    M({row})' for row in rows) + '\n'


def main():
    output, *headers = sys.argv[1:]
    enumerators = [f'{name}, {enumerator}'
                   for name, names in sorted(enums(headers).items()) for enumerator in names]
    owning = [f'{name}, {kind}' for name, kind in sorted(owners(headers).items()) if name not in NO_OWNERS]
    changed_file.write(output, '#pragma once\n\n' + macro('PUBLIC_ENUMERATORS', enumerators) + '\n' +
                       macro('PUBLIC_OWNERS', owning) + '\n' + macro('PUBLIC_FUNCTIONS', functions(headers)))


if __name__ == '__main__':
    main()
