"""The rows of a table: the union of the declarations in the three views of the headers."""

import dataclasses
import os
import re
import subprocess
import tempfile

from . import declarations, profiler, versions
from .description import Description

# The views of the headers. Later ones only add names: the last one shows the older ABI versions.
VIEWS = {
    'plain': [],
    'per_thread': ['CUDA_API_PER_THREAD_DEFAULT_STREAM'],
    'internal': ['__CUDA_API_VERSION_INTERNAL'],
}


# Names that a header does not declare but defines in the per-thread view on top of a row, only to request
# per-thread variants if the caller's flags do not choose.
ADAPTORS = {'cuGetProcAddress_ptsz': 'cuGetProcAddress',
            'cuGetProcAddress_v2_ptsz': 'cuGetProcAddress_v2'}


# Headers that cuda.h and cuda_runtime_api.h include, but that declare device functions only.
NOT_READ = ('cuda_device_runtime_api.h',)


# Headers that cuda_runtime_api.h includes and that are in another package.
PACKAGED_APART = ('crt/host_defines.h',)


@dataclasses.dataclass
class Api:
    key: str            # "driver"
    table: str          # the class: "DriverTable"
    header: str         # the required header
    more_headers: list  # optional headers: profiler.py has their functions
    prefix: re.Pattern  # matches the names that it declares
    status: str         # the type of a status
    convention: str     # the macro of the calling convention
    version_macro: str  # the macro with the version of the header
    description: Description = None  # of a library other than these two
    major: int = None   # of its headers; None: they have no version
    cuda: int = 0       # major version of CUDA's headers; 0: unknown

    @property
    def title(self):
        return self.description.title if self.description else f'the CUDA {self.key} API'


DRIVER = Api('driver', 'DriverTable', 'cuda.h', ['cudaProfiler.h'], re.compile('cu[A-Z].*'),
             'CUresult', 'CUDAAPI', 'CUDA_VERSION')
RUNTIME = Api('runtime', 'RuntimeTable', 'cuda_runtime_api.h', ['cuda_profiler_api.h'],
              re.compile('cuda[A-Z].*'), 'cudaError_t', 'CUDARTAPI', 'CUDART_VERSION')


@dataclasses.dataclass
class Row:
    function: declarations.Function
    views: list
    introduced: int = 0
    is_macro: bool = False  # the bare name is a macro in the plain view: an older ABI
    has_alias: bool = True  # an unversioned name also exists as <name>_v1
    inline_names: list = dataclasses.field(default_factory=list)  # of the header, which only call this

    @property
    def name(self):
        return self.function.name

    alias_taken: bool = False  # an export <name>_v1 exists
    adaptors: list = dataclasses.field(default_factory=list)  # see ADAPTORS

    @property
    def bare(self):
        return versions.split_export(self.name)[1:] == (1, '') and not re.search(
            r'_v\d+$', self.name)

    @property
    def members(self):
        """The C++ names of the row in a table."""
        alias = [self.name + '_v1'] if self.bare and not self.alias_taken else []
        if self.is_macro:
            return alias or [self.name + '_unversioned']
        return [self.name] + (alias if self.has_alias else []) + self.inline_names


@dataclasses.dataclass
class Table:
    api: Api
    rows: list
    left_out: list
    forward_declared: list  # tags of structs that only the internal view shows
    headers: list           # headers that were read, in the order of inclusion
    macros: list            # member names that are macros in some view, or may become one
    beside: list            # headers in another package that these include
    files: list = dataclasses.field(default_factory=list)  # of a library: paths of its declarations


class Preprocessor:
    """Runs the target compiler's preprocessor over a few includes."""

    def __init__(self, command, folders, style):
        self.command, self.folders, self.style = command, folders, style

    def run(self, headers, macros, show_macros=False, last=''):
        """`last`: text after the includes."""
        text = ''.join(f'#define {macro} 1\n' for macro in macros)
        text += ''.join(f'#include <{header}>\n' for header in headers) + last
        done = self.preprocess(text, show_macros)
        if done.returncode != 0:
            raise declarations.Damaged(first_error(done))
        return done.stdout.decode(errors='replace')

    def preprocess(self, text, show_macros=False):
        if self.style == 'msvc':
            return self.start_with(text, ['/E'])
        return self.start_with(text, ['-E'] + (['-dM'] if show_macros else []))

    def compile(self, headers, code):
        """Compiles code after the headers, without a result but its messages."""
        flags = ['/Zs', '/w', '/std:c++20'] if self.style == 'msvc' else ['-fsyntax-only', '-w', '-std=gnu++20']
        done = self.start_with(''.join(f'#include <{header}>\n' for header in headers) + code, flags)
        done.stderr += done.stdout  # cl prints errors there
        return done

    def start_with(self, text, flags):
        """Runs the compiler with a source of this text."""
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, 'view.cpp')
            with open(source, 'w', encoding='utf-8') as file:
                file.write(text)
            if self.style == 'msvc':
                more = ['/nologo', '/TP'] + [f'/I{f}' for f in self.folders]
            else:
                more = ['-x', 'c++'] + [f'-I{f}' for f in self.folders]
            return self.start(flags + more + [source])

    def start(self, arguments):
        """Runs the compiler with an empty standard input."""
        try:
            return subprocess.run(self.command + arguments, input=b'', capture_output=True, check=False)
        except OSError as reason:
            raise declarations.Damaged(
                f'{self.command[0]}: the compiler cannot be run: {reason.strerror}') from None

    def where(self, header):
        """The folder of a header, or None if the compiler does not find it."""
        return self.folders_of([header])[header]

    def folders_of(self, headers):
        """The folder of each header, or None."""
        probe = ''.join(f'#if __has_include(<{header}>)\n#include <{header}>\n#endif\n'
                        for header in headers)
        done = self.preprocess(probe)
        if done.returncode != 0 and not done.stdout:
            raise declarations.Damaged(first_error(done))
        found = dict.fromkeys(headers)
        for line in done.stdout.decode(errors='replace').splitlines():
            marker = declarations.LINE_MARKER.match(line)
            file = marker['file'].replace('\\\\', '/') if marker else ''
            for header in headers:
                if found[header] is None and file.endswith('/' + header):
                    found[header] = file[:-len(header) - 1]
        return found

    def messages(self, flags):
        """What the compiler prints to standard error for an empty source."""
        return self.start(flags).stderr.decode(errors='replace')

    def path(self, header):
        """The path of a header, which must exist."""
        folder = self.where(header)
        if folder is None:
            raise declarations.Damaged(f'{header}:1: the compiler does not report the path of this header')
        return os.path.join(folder, header)

    def end(self, header):
        """The position for errors about missing declarations: the last line of the header."""
        path = self.path(header)
        return f'{path}:{max(1, len(read(path).splitlines()))}'


def read(path):
    with open(path, encoding='utf-8', errors='replace') as file:
        return file.read()


def first_error(done):
    """One line of the compiler messages, beginning with file and line."""
    lines = [line for line in done.stderr.decode(errors='replace').splitlines() if line.strip()]
    errors = [line for line in lines if re.search(r'\berror\b', line)]
    return (errors + lines + [f'the compiler exited with status {done.returncode}'])[0]


CUDA_VERSION = re.compile(r'^[ \t]*#[ \t]*define[ \t]+CUDA_VERSION\b[ \t]*(?P<value>[^\n]*)', re.M)


def cuda_version(preprocessor):
    """As the preprocessor defines it, or else as the header spells it."""
    text = preprocessor.run(['cuda.h'], [], show_macros=True)
    match = CUDA_VERSION.search(text)
    path = preprocessor.path('cuda.h')
    in_header = CUDA_VERSION.search(read(path))
    match = match or in_header
    if not match:
        raise declarations.Damaged(f'{preprocessor.end("cuda.h")}: nothing here defines CUDA_VERSION')
    value = re.sub(r'/\*.*|//.*', '', match['value']).strip()
    number = re.fullmatch(r'\(?\s*(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\s*\)?', value)
    packed = int(number[1], 16 if number[1][:2] in ('0x', '0X') else 10) if number else 0
    if not 1000 <= packed < 1000000:
        line = read(path).count('\n', 0, in_header.start()) + 1 if in_header else 1
        raise declarations.Damaged(f'{path}:{line}: CUDA_VERSION is {value or "empty"}, which is not '
                                   'a version of CUDA')
    return packed


def read_table(api, preprocessor, packed):
    folder = preprocessor.where(api.header)
    # Headers in another folder may be those of another CUDA version.
    headers = [api.header] + [h for h in api.more_headers if preprocessor.where(h) == folder]
    absent = ''.join(profiler.declarations_of(h, packed) for h in api.more_headers
                     if h not in headers)
    sources = {view: declarations.Source(f'{preprocessor.run(headers, macros)}\n# 1 "{headers[0]}"\n{absent}')
               for view, macros in VIEWS.items()}
    rows, left_out = {}, []
    for view, source in sources.items():
        unite(rows, left_out, view, api, declarations.functions_of(source, api.prefix, set(headers).__contains__))
    left_out += declared_elsewhere(api, sources['internal'], headers, rows)
    for row in rows.values():
        row.alias_taken = row.name + '_v1' in rows
    macros = {view: macros_in(preprocessor, headers, VIEWS[view]) for view in VIEWS}
    for row in rows.values():
        # A macro that expands to its own name, as some do in the plain view, does not redirect the function.
        row.is_macro = row.bare and row.name in macros['plain'] and 'plain' not in row.views
    tags = spell_hidden_types(api, rows, sources, left_out)
    introduced = versions.introduced_versions(rows, preprocessor.where('cuda.h'))
    for name, row in rows.items():
        row.introduced = introduced.get(name, 0) if api is DRIVER else 0
    may_be_macros = set_apart(rows, set().union(*macros.values()))
    files = {file for _, _, file, _ in sources['plain'].markers}
    beside = [h for h in PACKAGED_APART if any(file.endswith('/' + h) for file in files)]
    return Table(api, list(rows.values()), left_out, tags, headers, sorted(may_be_macros), beside)


def set_apart(rows, macros):
    """Renames parameters that are called as macros or functions. Returns the members that are macros of the headers, or
    that newer headers may turn into macros: the bare names."""
    members = {m for row in rows.values() for m in [row.name] + row.members + row.adaptors}
    for row in rows.values():
        declarations.name_parameters(row.function, (macros | members).__contains__)
    return members & macros | {row.name for row in rows.values() if row.bare}


def unite(rows, left_out, view, api, found):
    """Adds the declarations of one view; reports those that contradict earlier ones."""
    functions, defined, unknown = found
    for name, function in functions.items():
        row = rows.setdefault(name, Row(function, []))
        row.views.append(view)
        if abi(row.function) != abi(function):
            unknown.append(f'{name} [declared differently in the {view} view]')
    for name in defined:
        base = ADAPTORS.get(name)
        if base in rows and name not in rows[base].adaptors:
            rows[base].adaptors.append(name)
        elif base not in rows and name not in rows:
            unknown.append(declarations.one_line(f'{name} [defined by the header itself]'))
    left_out += [text for text in unknown if text not in left_out]


def abi(function):
    """Types without version suffixes: one view calls CUdeviceptr CUdeviceptr_v2."""
    return [re.sub(r'_v\d+\b', '', kind).replace('const ', '')
            for kind in (function.result, *(p.type for p in function.parameters))]


def declared_elsewhere(api, source, headers, rows):
    """Functions with our prefixes in headers that are not read, which would be missed silently."""
    ours = set(headers) | set(NOT_READ)
    functions, _, _ = declarations.functions_of(
        source, api.prefix, lambda name: name not in ours and name.startswith('cuda'))
    return [f'{name} [declared in a header that is not read]' for name in functions
            if name not in rows]


def macros_in(preprocessor, headers, view):
    """The names that are macros in a view, which is a list of macros."""
    if preprocessor.style == 'msvc':
        return macros_by_text(preprocessor, headers)
    text = preprocessor.run(headers, view, show_macros=True)
    return set(re.findall(r'^#define (\w+)', text, re.M))


def macros_by_text(preprocessor, headers):
    """All macros that the headers define anywhere, for compilers that cannot list them."""
    found = set()
    for header in headers:
        text = read(preprocessor.path(header))
        found |= set(re.findall(r'^\s*#\s*define\s+(\w+)', text, re.M))
    return found


def spell_hidden_types(api, rows, sources, left_out):
    """Replaces types that the plain view of the main header lacks by their definitions."""
    visible = sources['plain'].words(lambda name: name not in api.more_headers) | declarations.KEYWORDS
    hidden = declarations.typedefs_of(sources['internal'])
    tags = []

    def respell(text, is_pointer, seen=()):
        def spelled(match):
            name = match.group(0)
            if name in visible:
                return name
            kind, what = hidden.get(name) or (None, '')
            if kind is None or name in seen or kind != 'type' and not is_pointer:
                raise declarations.NotUnderstood('type ' + name)
            if kind == 'type':
                return respell(what, is_pointer, (*seen, name))
            if what not in tags:
                tags.append(what)
            return f'{kind} {what}'
        return re.sub(r'[A-Za-z_]\w*', spelled, text)

    for row in list(rows.values()):
        try:
            for part in row.function.parameters:
                is_pointer = '*' in part.type
                part.before, part.after = respell(part.before, is_pointer), respell(part.after, is_pointer)
            row.function.result = respell(row.function.result, '*' in row.function.result)
        except declarations.NotUnderstood as reason:
            left_out.append(f'{row.name} [{reason}]')
            del rows[row.name]
    return tags
