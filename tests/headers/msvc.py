"""Reads code as MSVC does: clang in MSVC's mode, without the macros of GCC and clang, on the headers of mingw-w64.
Every extension that clang accepts is a finding."""

import os
import re
import shutil
import subprocess

CLANGS = ['clang++', *(f'clang++-{version}' for version in range(22, 13, -1))]
MINGWS = ['x86_64-w64-mingw32-g++-posix', 'x86_64-w64-mingw32-g++']
TARGET = '--target=x86_64-pc-windows-msvc19.38.0'

# clang's words for /permissive- and /W4, by the suffix of a source. It knows __FUNCSIG__ as an extension.
MODE = ['-fms-compatibility', '-fms-extensions', '-ferror-limit=0', '-Wall', '-Wextra', '-Wpedantic', '-Wgnu',
        '-Wmicrosoft', '-Wno-language-extension-token']
MODES = {'.c': ['-std=c11', *MODE, '-Wno-overlength-strings'],  # MSVC takes 65,535 characters
         '.cpp': ['-std=c++20', *MODE, '-fno-delayed-template-parsing', '-foperator-names', '-fexceptions',
                  '-fcxx-exceptions']}
# More than /W4: of headers, whose warnings their users see.
STRICT = ['-Wconversion', '-Wsign-conversion', '-Wshadow-all', '-Wextra-semi', '-Wunreachable-code']

# The headers of mingw-w64 need the macros of their own compiler.
MINGW_MACROS = {'__GNUC__': '12', '__GNUC_MINOR__': '2', '__MINGW32__': '1', '__MINGW64__': '1', '__STRICT_ANSI__': '1',
                '_UCRT': '1', '_WIN32_WINNT': '0x0A00', '__GCC_ATOMIC_TEST_AND_SET_TRUEVAL': '1'} | {
                    f'__GCC_ATOMIC_{kind}_LOCK_FREE': '2'
                    for kind in ('BOOL', 'CHAR', 'CHAR8_T', 'CHAR16_T', 'CHAR32_T', 'WCHAR_T', 'SHORT', 'INT', 'LONG',
                                 'LLONG', 'POINTER')}
LIBRARY_HEADERS = '''algorithm array atomic bit cerrno charconv chrono compare concepts condition_variable cstdarg
cstddef cstdint cstdio cstdlib cstring exception initializer_list iterator limits memory mutex new optional ostream
span stdexcept string string_view system_error thread type_traits unordered_map unordered_set utility variant vector
version errno.h limits.h stddef.h stdint.h stdio.h stdlib.h string.h'''.split()
HIDDEN = ['__clang__', '__GNUC__', '__GNUC_MINOR__', '__MINGW32__', '__MINGW64__', '__STRICT_ANSI__',
          '__SIZEOF_INT128__', '__x86_64__', '__x86_64', '__ELF__', '__LP64__']

# Accepted by clang without a warning. Headers of the library also avoid attributes that MSVC does not know, since
# it warns of them (C5030); the library itself is built without that warning.
FOREIGN = re.compile(
    r'\b(?:__attribute__|__asm__|__asm|asm|__extension__|__typeof\w*|typeof|__PRETTY_FUNCTION__|__u?int128\w*|__null|'
    r'__builtin_(?!addressof\b|bit_cast\b|offsetof\b|va_)\w+|__atomic_\w+|__sync_\w+|__restrict__|__inline__|'
    r'__alignof__|__thread|ssize_t|alloca|no_unique_address|M_PI|'
    # Functions that mingw-w64 has and MSVC lacks.
    r'(?:aligned_alloc|setenv|unsetenv|strcasecmp|strncasecmp|gettimeofday|usleep|localtime_r|gmtime_r|strtok_r|'
    r'ftruncate|fseeko|ftello|mkstemp|getline|clock_gettime|nanosleep|sched_yield|pthread_\w+)(?=\s*\())(?!\w)|'
    r'#\s*pragma\s+(?:GCC|clang)\b.*')
FOREIGN_ATTRIBUTE = re.compile(r'\[\[\s*(?:gnu|clang)::[^\]]*')
# Headers that mingw-w64 has and MSVC lacks.
FOREIGN_HEADER = re.compile(
    r'^#include\s+[<"]((?:unistd|pthread|dlfcn|strings|dirent|getopt|poll|sched|sys/(?!stat\.|types\.|timeb\.|utime\.)\w+)'
    r'\.h)[>"]')


class Unavailable(Exception):
    """clang or mingw-w64 is not installed."""


def first_found(names):
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise Unavailable(f'{names[-1]} is missing')
    return found


def include_folders(command):
    """The folders that a compiler searches for <...>, in order."""
    text = subprocess.run([command, '-E', '-v', '-x', 'c++', os.devnull], capture_output=True, text=True, check=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stderr
    listed = text.split('#include <...> search starts here:')[1].split('End of search list.')[0].split('\n')
    folders = [os.path.realpath(line.strip()) for line in listed if line.strip()]
    # clang has its own headers of the compiler.
    return [folder for folder in folders if not os.path.exists(os.path.join(folder, 'stddef.h'))
            or os.path.exists(os.path.join(folder, 'stdio.h'))]


class Reader:
    """folder: for files of this class."""

    def __init__(self, folder, include, system_include):
        self.folder = os.path.realpath(folder)
        self.clang, self.mingw = first_found(CLANGS), include_folders(first_found(MINGWS))
        # clang has intrinsics built in; its own header of them contradicts that of mingw-w64.
        self.write('intrin.h', '/* Built into clang. */\n')
        self.include = [os.path.realpath(path) for path in (folder, *include)]
        self.system = self.mingw + system_include
        self.library = self.precompile('library', '')

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, 'w', encoding='utf-8') as file:
            file.write(text)
        return path

    def arguments(self, suffix):
        return [TARGET, *MODES[suffix], '-nostdlibinc', *(f'-D{name}={value}' for name, value in MINGW_MACROS.items()),
                *(f'-I{folder}' for folder in self.include), *(f'-isystem{folder}' for folder in self.system)]

    def run(self, suffix, *arguments):
        return subprocess.run([self.clang, *self.arguments(suffix), *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, 'LC_ALL': 'C'})

    def read(self, source, known, *arguments):
        suffix = os.path.splitext(source)[1]
        return self.run(suffix, '-include-pch', known, *arguments, '-x', 'c' if suffix == '.c' else 'c++', source)

    def precompile(self, name, system, text='', suffix='.cpp'):
        """Reads once, for many sources: the standard library, then `system` with all macros of the compiler, then
        `text`."""
        headers = [header for header in LIBRARY_HEADERS if suffix == '.cpp' or header.endswith('.h')]
        whole = (''.join(f'#include <{header}>\n' for header in headers) + '#undef NOMINMAX\n' + system +
                 ''.join(f'#undef {macro}\n' for macro in HIDDEN) + text)
        source, made = self.write(f'{name}.hpp', whole), os.path.join(self.folder, f'{name}.pch')
        done = self.run(suffix, '-x', 'c++-header' if suffix == '.cpp' else 'c-header', source, '-o', made)
        if done.returncode != 0 or 'warning:' in done.stderr:
            raise AssertionError(done.stderr[:4000])
        return made

    def cl(self):
        """A command that takes the arguments of cl.exe."""
        return [self.clang, '--driver-mode=cl', TARGET, '/X', '/std:c++20', '/permissive-',
                *(f'/D{name}={value}' for name, value in MINGW_MACROS.items()),
                *(word for folder in self.mingw for word in ('-imsvc', folder))]

    def rejected(self, source, known, *options):
        """Errors and warnings about a source and the headers that it reads after those of precompile()."""
        done = self.read(source, known, *options, '-fsyntax-only')
        found = [line for line in done.stderr.splitlines() if re.search(r': (?:warning|(?:fatal )?error):', line)]
        return found or ([done.stderr[:2000]] if done.returncode != 0 else [])

    def foreign(self, source, known, attributes=True):
        """Words of other compilers in a source and in the headers of this project, as "file:line: word". Sources
        that include several others redefine macros."""
        done = self.read(source, known, '-w', '-E', '-dI')
        if done.returncode != 0:
            raise AssertionError(done.stderr[:4000])
        return list(foreign_words(done.stdout, tuple(self.include), attributes))


def foreign_words(text, folders, attributes):
    file, line, inside = '', 0, False
    for row in text.splitlines():
        marker = re.match(r'# (\d+) "(.*?)"', row)
        if marker:
            file, line = marker[2], int(marker[1])
            inside = file.startswith(folders)
            continue
        if inside:
            # A string may name another compiler.
            code = row if row.startswith('#include') else re.sub(r'"(?:\\.|[^"\\])*"', '""', row)
            words = [found[0] for found in FOREIGN.finditer(code)]
            words += [found[0] for found in FOREIGN_ATTRIBUTE.finditer(code)] if attributes else []
            header = FOREIGN_HEADER.match(code)
            words += [header[1]] if header else []
            yield from (f'{file}:{line}: {word}' for word in words)
        line += 1
