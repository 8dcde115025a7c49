"""Reads the description of a library, a file of lines `KEY = VALUE`. The format: README.md, in this folder."""

import dataclasses
import fnmatch
import os
import re

from . import declarations, versions

LIBRARIES = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'libraries')
NAME = re.compile(r'[a-z][a-z0-9_]*')
# Words of cushim's own files, targets, functions and variables (CUSHIM_DISABLE), and of C++ and its macros.
TAKEN = declarations.KEYWORDS | set(
    'allocation_alignment arm assert audit choose core cushim detail disable driver driver_version dropin '
    'dropin_driver dropin_exported emit entry errno far feature_count first_call foreach forever headers '
    'headers_version i386 info init interface last_driver_log linux load_driver load_report load_runtime loadable '
    'max min mips near pascal reload resolve_all rt runtime runtime_version sim slots small signals static std '
    'stderr stdin stdout tables try_driver try_runtime unix visit wait_for_released_closures'.split())
PLACES = {
    'driver': ['CUSHIM_PLACE_BESIDE_DRIVER', 'CUSHIM_PLACE_DRIVER'],
    'toolkit': ['CUSHIM_PLACE_TOOLKIT'],
    'packages': ['CUSHIM_PLACE_PACKAGES'],
    'program': ['CUSHIM_PLACE_PROGRAM'],
}
# The number of words after the function.
VERSION_KINDS = {'major-minor': 1, 'property': 1, 'written': 3, 'returned': 3}
MAX_UNIT = 2 ** 31 - 1  # they are of type int
SYSTEMS = ('linux', 'windows')
# Keys that every description has, and those that it may have.
REQUIRED = ('title', 'headers', 'functions', 'required')
OPTIONAL = ('optional', 'except', 'macro', 'major', 'major_header', 'version', 'places', 'packages', 'hint', 'wheels',
            'links', *SYSTEMS)
RESULTS = ('absent', 'missing')


class Invalid(Exception):
    """A mistake in a description; the message begins with file and line."""


@dataclasses.dataclass
class Version:
    function: str
    kind: str        # of VERSION_KINDS
    units: tuple     # (major, minor) of a packed number; (0, 0) otherwise


@dataclasses.dataclass
class Description:
    path: str
    name: str
    values: dict     # by key
    lines: dict      # the line number by key
    results: dict    # ('absent', 'nvmlReturn_t'): an expression
    used: set        # keys of `results` that a function needed
    names_by_major: dict  # (system, major): file names

    @property
    def is_shipped(self):
        return os.path.dirname(os.path.abspath(self.path)) == LIBRARIES

    def words(self, key):
        return self.values.get(key, '').split()

    @property
    def title(self):
        return self.values['title']

    @property
    def functions(self):
        """Matches the names of the functions."""
        wanted = '|'.join(fnmatch.translate(p) for p in self.words('functions'))
        unwanted = '|'.join(fnmatch.translate(p) for p in self.words('except'))
        return re.compile((f'(?!{unwanted})' if unwanted else '') + f'(?:{wanted})')

    @property
    def beginnings(self):
        """The beginnings of the functions' names, before any wildcard."""
        return [re.split(r'[*?\[]', pattern)[0] for pattern in self.words('functions')]

    @property
    def version(self):
        words = self.words('version')
        if not words:
            return None
        units = tuple(int(word) for word in words[2:]) or (0, 0)
        return Version(words[0], words[1], units)

    def names(self, system, major):
        """The file names, with marks such as {major}."""
        return self.names_by_major.get((system, major)) or self.words(system)

    @property
    def link_name(self):
        """What -l names on Linux: nvidia-ml for libnvidia-ml.so.1. Empty if no file has such a name."""
        found = re.match(r'lib(.+?)\.so\b', (self.words('linux') or [''])[0])
        return found[1] if found else ''

    def needs_cuda(self, major):
        names = self.words('packages') + [n for system in SYSTEMS for n in self.names(system, major)]
        return any('{cuda}' in name for name in names)

    def file_names(self, system, major, cuda):
        return [filled(name, major, cuda) for name in self.names(system, major)]

    def package_folders(self, major, cuda):
        return [filled(name, major, cuda) for name in self.words('packages')]

    @property
    def places(self):
        return [bit for word in self.words('places') for bit in PLACES[word]]

    def result(self, case, function):
        """The expression that a call of an unavailable function returns; None: not described."""
        key = self.result_key(case, function)
        self.used.add(key)
        return self.results.get(key)

    def result_key(self, case, function):
        """The key of this expression in `results`, or None."""
        return next(((described, key) for key in (function.name, function.result) for described in (case, 'absent')
                     if (described, key) in self.results), None)

    def unused_results(self):
        """The places of the lines that no function needed, with their beginnings."""
        return [(f'{self.path}:{self.lines[key]}', ' '.join(key))
                for key in self.results if key not in self.used]


def filled(name, major, cuda):
    return name.replace('{major}', str(major)).replace('{cuda}', str(cuda))


def shipped():
    """The names of the described libraries."""
    return sorted(os.path.splitext(file)[0] for file in os.listdir(LIBRARIES)
                  if file.endswith('.txt'))


def path_of(library):
    """The description of a library of cushim, or the file itself."""
    if library.endswith('.txt'):
        return library
    if library not in shipped():
        raise Invalid(f'no library is called {library}; known: {", ".join(shipped())}; '
                      'a description of your own is a file NAME.txt')
    return os.path.join(LIBRARIES, library + '.txt')


def read(path):
    try:
        with open(path, encoding='utf-8') as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as reason:
        raise Invalid(f'{path}:1: cannot be read: {reason}') from None
    return parse(text, path)


def parse(text, path):
    name = os.path.splitext(os.path.basename(path))[0]
    description = Description(path, name, {}, {}, {}, set(), {})

    def refuse(number, message):
        raise Invalid(f'{path}:{number}: {message}')

    if not NAME.fullmatch(name) or name in TAKEN:
        refuse(1, f'{name} cannot be the name of a library: a name has lowercase letters, digits and '
                  '_, begins with a letter, and is neither a word of C++ nor one that cushim or a system header '
                  'uses')
    number = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith('#'):
            continue
        if not line.replace('\t', ' ').isprintable():
            refuse(number, 'expected characters that can be printed, not: ' + ascii(line.strip()))
        key, equals, value = (part.strip() for part in line.partition('='))
        if not equals or not value:
            refuse(number, f'expected KEY = VALUE, not: {line.strip()}')
        try:
            add(description, number, key, value)
        except ValueError as mistake:
            refuse(number, mistake)
    for key in REQUIRED:
        if key not in description.values:
            refuse(max(number, 1), f'the line "{key} = ..." is missing')
    if not any(description.words(system) for system in SYSTEMS):
        refuse(max(number, 1), 'a line with file names is missing: "linux = ..." or "windows = ..."')
    if 'major' not in description.values:
        need_it = [key for key, value in description.values.items()
                   if key in ('version', 'major_header') or '{major}' in value] + list(description.names_by_major)
        for key in need_it[:1]:
            refuse(description.lines[key], 'needs the line "major = ..."')
    try:
        claimed = sorted(filter(description.functions.fullmatch, versions.released_versions()[1]))
    except re.error as mistake:
        refuse(description.lines['functions'], f'a pattern cannot be used: {mistake}')
    if claimed:
        refuse(description.lines['functions'], f'{claimed[0]} is a function of the CUDA driver')
    return description


def add(description, number, key, value):
    """Adds one line. Raises ValueError with the mistake."""
    first, _, rest = key.partition(' ')
    where = description.lines
    if first in RESULTS and rest:
        kind = declarations.spell_type(rest)
        if kind == 'void':
            raise ValueError('functions with the result void return nothing')
        if (first, kind) in description.results:
            raise ValueError(f'{first} {kind} is already given in line {where[first, kind]}')
        description.results[first, kind] = value
        where[first, kind] = number
        return
    if first in SYSTEMS and rest:
        if not rest.isdecimal():
            raise ValueError(f'{rest} is not a major version')
        system = first, int(rest)
        if system in where:
            raise ValueError(f'{first} {rest} is already given in line {where[system]}')
        description.names_by_major[system] = value.split()
        where[system] = number
        return
    if key not in REQUIRED + OPTIONAL:
        known = ', '.join(REQUIRED + OPTIONAL + tuple(f'{word} TYPE' for word in RESULTS))
        raise ValueError(f'unknown key {key}; known: {known}')
    if key in where:
        raise ValueError(f'{key} is already given in line {where[key]}')
    check(key, value)
    description.values[key] = value
    where[key] = number


def check(key, value):
    words = value.split()
    if key in ('macro', 'required') and not declarations.is_name(value):
        raise ValueError(f'{value} is not a name')
    if key in ('title', 'hint') and re.search(r'["\\]', value):
        raise ValueError(f'{key} must not contain " or \\')
    if key == 'title' and re.search(r'/\*|\*/|\?\?', value):  # generated comments and directives have it
        raise ValueError('title must not contain /*, */ or ??')
    if key == 'places':
        for word in words:
            if word not in PLACES:
                raise ValueError(f'unknown place {word}; known: {", ".join(PLACES)}')
    if key == 'links':
        for word in words:
            if not NAME.fullmatch(word):
                raise ValueError(f'{word} is not the name of a library, such as cublas')
    if key in ('functions', 'except'):
        for word in words:
            if not re.fullmatch(r'[\w*?\[\]!-]+', word) or re.fullmatch(r'[*?]*', word):
                raise ValueError(f'{word} is not a pattern for names, such as nvml[A-Z]*')
    if key == 'version':
        kind = words[1] if len(words) > 1 else ''
        if kind not in VERSION_KINDS or len(words) != VERSION_KINDS[kind] + 1 or not all(
                word.isdecimal() and 0 < int(word) <= MAX_UNIT for word in words[2:]):
            raise ValueError('expected FUNCTION major-minor, FUNCTION property, or FUNCTION written or '
                             f'returned MAJOR_UNIT MINOR_UNIT, with units from 1 to {MAX_UNIT}')
