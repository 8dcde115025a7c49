#!/usr/bin/env python3
"""Reports whether programs and libraries need a CUDA library at start-up, which of their libraries links it, and
what to change. Nothing is loaded or run.

ELF files are read with readelf, PE files with objdump, of binutils or LLVM. The libraries of an ELF file are searched
for in its DT_RPATH or DT_RUNPATH, in the folders of /etc/ld.so.conf and its folder ld.so.conf.d, and in the system's
folders, including those of other architectures; LD_LIBRARY_PATH is ignored. The DLLs of a PE file are searched for in
its folder. A library that is not found is reported, since its dependencies are unknown.

Exit status: 0: all files start without CUDA; 1: a file needs CUDA at start-up; 2: a file could not be read or is not
a program or library, a tool is missing, the output could not be written, or the command line was not understood.
"""

import argparse
import functools
import json
import mmap
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading

STARTS, NEEDS_CUDA, NOT_AUDITED = 0, 1, 2
MOST_LOOKS, MOST_LINES, MOST_SECONDS = 200000, 4000000, 60  # more than any program needs

# Names of files in lower case, without "lib" and the suffix: ".so.13", "64_13.dll".
TOOLKIT = re.compile('''(acc|cu)inj|cublas(lt|mp)?|cudadebugger|cudla|cudnn(_\\w+)?|cudss|cufft(mp|w)?|cufile(_rdma)?|
    cupti|curand|cusolver(mg|mp)?|cusparse(lt)?|custatevec|cutensor(mg|net)?|nccl|npp[a-z]+|nv(blas|cuvid|encodeapi|
    fatbin|graph|idia-(encode|fbc|ml|nvvm|opticalflow|ptxjitcompiler)|infer|jitlink|jpeg(2k)?|ml|onnxparser|optix|
    parsers|perf_(host|target)|rtc(-[\\w-]+)?|shmem(_\\w+)?|tiff|toolsext|tx3interop|vm)''', re.VERBOSE)
# Those with a drop-in (tools/tables/libraries).
DROPINS = {'nvidia-ml': 'nvml', 'nvidia-encode': 'nvenc', 'nvencodeapi': 'nvenc', **{name: name for name in (
    'cublas cublaslt cudnn cufft cupti curand cusolver cusolvermg cusparse nccl nppc nppial nppicc nppidei nppif nppig '
    'nppim nppist nppisu nppitc npps nvcuvid nvjitlink nvjpeg nvml nvrtc').split()}}
DRIVER_FUNCTION = re.compile(r'cu(?!File)[A-Z]\w*')
RUNTIME_FUNCTION = re.compile(r'(__)?cuda(?!RegisterLinkedBinary|UnregisterBinaryUtil)[A-Z]\w*')
INTEROP_FUNCTION = re.compile(  # of the headers for OpenGL, EGL, VDPAU and Direct3D, which the drop-in lacks
    r'cu(da)?(Graphics)?(D3D|EGL|EventCreateFromEGL|GL|ResourceGetMappedEgl|VDPAU|WGL)\w*')

DAMAGED = 'the file is truncated or damaged'


class Unreadable(Exception):
    """Why a file cannot be audited."""


def library_kind(file_name):
    """driver, runtime, toolkit or other; and the drop-in of the library, or None."""
    match = re.fullmatch(r'(?:lib)?([^.]*)(?:\.so\b.*|.*\.dll)', os.path.basename(file_name.lower()), re.DOTALL)
    whole = match[1] if match else ''
    stem = re.sub(r'(\d[\d_]*|_[\d_]+|-[0-9a-f]{8})$', '', whole)
    if stem in ('cuda', 'nvcuda', 'cudart'):
        return ('runtime' if stem == 'cudart' else 'driver'), 'cushim-dropin'
    if name := next((name for name in (whole, stem) if TOOLKIT.fullmatch(name)), None):
        return 'toolkit', f'cushim-{DROPINS[name]}-dropin' if name in DROPINS else None
    return 'other', None


def function_kind(name):
    return 'driver' if DRIVER_FUNCTION.fullmatch(name) else 'runtime' if RUNTIME_FUNCTION.fullmatch(name) else 'other'


def lines_of(tools, path, *options):
    """The output of the first of these tools that is installed and reads the file."""
    problem = f'this file is read with {tools[0]}, which was not found: install binutils or LLVM'
    for tool in filter(None, map(shutil.which, tools)):
        lines, errors = [], tempfile.TemporaryFile('w+', encoding='utf-8', errors='replace')
        with errors, subprocess.Popen([tool, *options, os.path.abspath(path)], env={**os.environ, 'LC_ALL': 'C'},
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors,
                                      encoding='utf-8', errors='replace') as process:
            (timer := threading.Timer(MOST_SECONDS, process.kill)).start()
            for line in process.stdout:
                lines.append(line.rstrip('\n')[:4096])
                if len(lines) > MOST_LINES:
                    process.kill()
            timer.cancel()
            errors.seek(0)
            error = next((line.strip() for line in errors if 'arning:' not in line), '')
        if process.wait() == 0 and not error:
            return lines
        problem = f'{DAMAGED}: {error or os.path.basename(tool) + " failed"}'
        if 'format not recog' not in error:
            break
    raise Unreadable(problem)


class Binary:
    """What an audit uses of a program or library."""

    def __init__(self, path):
        if not os.path.isfile(path):  # reading others could block
            raise Unreadable('not a regular file' if os.path.exists(path) else 'no such file')
        self.path, self.is_program, self.soname, self.architecture = path, False, None, ''
        self.needed, self.rpath, self.runpath = [], [], []
        self.loads_later = False  # PE: some DLLs on the first call, which objdump does not name
        self.imports, self.optional, self.defined = set(), set(), set()  # names of functions
        with open(path, 'rb') as file:
            start = file.read(16)
        self.is_pe = start[:2] == b'MZ'
        if not self.is_pe and start[:4] != b'\x7fELF':
            raise Unreadable('neither an ELF nor a PE file')
        (self.read_pe if self.is_pe else self.read_elf)()

    def read_elf(self):
        head = {}
        for line in lines_of(('readelf', 'llvm-readelf'), self.path, '-W', '-h', '-l', '-d', '--dyn-syms'):
            if match := re.match(r'  (Class|Data|Type|Machine): +(.*)', line):
                head.setdefault(*match.groups())
            elif line.startswith('  INTERP '):
                self.is_program = True
            elif re.match(r'  DYNAMIC +(0x\w+ +){3}0x0+ ', line):
                raise Unreadable('it holds debug information only: audit the file that it was split from')
            elif match := re.match(r' *0x\w+ \((NEEDED|SONAME|RPATH|RUNPATH)\) .*\[(.*)\]', line):
                if match[1] == 'NEEDED':
                    self.needed.append(match[2])
                else:
                    setattr(self, match[1].lower(), match[2] if match[1] == 'SONAME' else match[2].split(':'))
            elif match := ('cu' in line or not self.imports) and re.match(
                    r' +\d+: [0-9a-f]+ +\w+ +\w+ +(GLOBAL|WEAK|UNIQUE) .* (\w+) (\w+)(@|$)', line):
                (self.imports if match[2] == 'UND' else self.defined).add(match[3])
                self.optional |= {match[3]} if match[1] == 'WEAK' else set()
        kind = head.get('Type', '').split(' ')[0]
        if kind not in ('EXEC', 'DYN'):
            raise Unreadable(f'neither a program nor a library: {head["Type"]}' if kind else DAMAGED)
        self.is_program = self.is_program or kind == 'EXEC'
        self.architecture = ', '.join(head.get(key, '').rpartition(', ')[2] for key in ('Class', 'Data', 'Machine'))

    def read_pe(self):
        for line in lines_of(('objdump', 'x86_64-w64-mingw32-objdump', 'llvm-objdump'), self.path, '-p', '-h'):
            if match := re.search(r'file format (\S+)', line):
                self.architecture = 'PE, ' + match[1]
            elif match := re.match(r'Characteristics 0x(\w+)', line):
                self.is_program = not int(match[1], 16) & 0x2000
            elif match := re.match(r'\s+DLL Name: (.+)', line):
                self.needed.append(match[1])
            elif self.needed and (match := re.match(r'\s.*\s(_*cu\w+)\s*$', line)):
                self.imports.add(match[1])
            elif re.match(r'Entry d 0*[1-9a-f]', line):
                self.loads_later = True
            elif (match := re.match(r' +\d+ \S+ +(\w{8})  \w+  \w+  (\w{8})  ', line)) and (
                    int(match[1], 16) + int(match[2], 16) > os.path.getsize(self.path)):
                raise Unreadable(DAMAGED)

    def contents(self):
        with open(self.path, 'rb') as file:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)

    def parts(self):
        """The parts of cushim in the file, by its notes (include/cushim/detail/marker.h), or None."""
        content, core, dropins = self.contents(), '', {}
        for match in re.finditer(rb'cushim\0\0', content):
            header = content[max(match.start() - 12, 0):match.start()].rjust(12)
            size, kind = struct.unpack(('<' if header[0] else '>') + '4xII', header)
            text = content[match.end():match.end() + min(size, 256)].partition(b'\0')[0].decode(errors='replace')
            if kind in (0x101, 0x102):
                core = re.sub(r'(\S+) (\d\d)0?(\d+)\d', r'cushim \1, built with the headers of CUDA \2.\3', text)
            if kind in (0x102, 0x103):  # each member of an archive has the note
                dropins['cushim-dropin' if kind == 0x102 else f'cushim-{text}-dropin'] = True
        return {'version': core, 'dropins': list(dropins)} if core or dropins else None

    def has_static_runtime(self):
        """Whether the file contains NVIDIA's static libcudart: it has its symbols; or its table, which names
        functions that were removed from CUDA long ago so that no header declares them, and the driver's name."""
        content = self.contents()
        return content.find(b'\0libcudart_' b'static_') >= 0 or bool(
            content.find(b'\0cudaD3D9' b'UnmapVertexBuffer\0') >= 0 and
            re.search(rb'\0(libcuda\.so\.1|nvcuda\.dll)\0', content))


class Search:
    """Finds libraries below a root folder, relative to which symbolic links are resolved."""

    def __init__(self, root):
        self.root, self.folders, self.read = os.path.abspath(root), [], functools.lru_cache(None)(Binary)
        for name in 'ld.so.conf', *(f'ld.so.conf.d/{name}' for name in self.entries('/etc/ld.so.conf.d')):
            if os.path.isfile(file := self.on_disk(f'/etc/{name}')):
                with open(file, encoding='utf-8', errors='replace') as lines:
                    self.folders += [line.split()[0] for line in lines if line.startswith('/')]
        self.folders += ['/lib64', '/usr/lib64', '/lib', '/usr/lib', '/lib32', '/usr/lib32']
        for place, below in ('/lib', ''), ('/usr/lib', ''), ('/usr', '/lib'):
            self.folders += [f'{place}/{name}{below}' for name in self.entries(place) if '-linux-' in name]

    def on_disk(self, path):
        """The file of a path in the root."""
        done, left, links = [], path.split('/')[::-1], 0
        while left:
            name = left.pop()
            if name == '..':
                done[-1:] = []
            elif name not in ('', '.'):
                place = os.path.join(self.root, *done, name)
                if links == 40 or not os.path.islink(place):
                    done.append(name)
                    continue
                target, links = os.readlink(place), links + 1
                done = [] if target.startswith('/') else done
                left += target.split('/')[::-1]
        return os.path.join(self.root, *done)

    def entries(self, folder):
        try:
            return sorted(os.listdir(self.on_disk(folder)))
        except OSError:
            return []

    def places(self, name, loaders):
        """DT_RPATH also applies to dependencies; DT_RUNPATH applies to its own library only, and replaces it."""
        if loaders[0].is_pe:
            folder = os.path.dirname(loaders[-1].path)
            yield from (os.path.join(folder, entry) for entry in os.listdir(folder) if entry.lower() == name.lower())
            return
        own = loaders[0].runpath
        written = [(own, loaders[0])] if own else [(each.rpath, each) for each in loaders if not each.runpath]
        folders = [(folder, owner) for paths, owner in written for folder in paths]
        folders += [(folder, loaders[0]) for folder in self.folders]
        for folder, owner in [('', loaders[0])] if '/' in name else folders:
            origin = '/' + os.path.relpath(os.path.dirname(owner.path), self.root).replace(os.sep, '/')
            place = re.sub(r'\$(ORIGIN\b|\{ORIGIN\})', lambda _: origin, os.path.join(folder, name))
            for lib in ('lib64', 'lib') if '$' in place else ('',):
                yield self.on_disk(re.sub(r'\$(LIB\b|\{LIB\})', lib, place))

    def find(self, name, loaders):
        """The library, and why a candidate could not be read. Those of another architecture are skipped."""
        problem = ''
        for place in self.places(name, loaders):
            self.looks += 1
            if self.looks > MOST_LOOKS:
                raise Unreadable('it has more folders and libraries than any program')
            try:
                if os.path.exists(place):
                    binary = self.read(place)
                    if binary.architecture == loaders[0].architecture:
                        return binary, ''
            except (Unreadable, OSError, ValueError) as error:
                problem = problem or f'{place}: {error}'
        return None, problem


class Dependency:
    def __init__(self, name, needed_by, binary, problem=''):
        self.name, self.needed_by, self.binary, self.problem = name, needed_by, binary, problem
        self.needs, (self.kind, self.dropin) = [], library_kind(name)
        self.loaders = [self] + (needed_by.loaders if needed_by else [])
        self.is_own = needed_by is None or self.kind == 'other'  # the user can change its links
        self.parts = binary.parts() if binary and self.is_own else None

    def functions(self, *kinds):
        return sorted(name for name in self.binary.imports if function_kind(name) in kinds)


def dependencies(file, search):
    """The file and everything that is loaded with it."""
    path = '/' + os.path.relpath(os.path.abspath(file), search.root).replace(os.sep, '/')
    everything = [Dependency(os.path.basename(file), None, Binary(search.on_disk(path)))]
    known, search.looks = {}, 0
    for each in everything:
        if each.binary is None or (each.needed_by and each.kind in ('driver', 'runtime')):
            continue
        for name in each.binary.needed:
            key = name.lower() if each.binary.is_pe else name
            if key not in known:
                binary, problem = search.find(name, [loader.binary for loader in each.loaders])
                own_name = binary and binary.soname or key
                if own_name not in known:
                    known[own_name] = Dependency(name, each, binary, problem)
                    everything.append(known[own_name])
                known[key] = known[own_name]
            each.needs.append(known[key])
    return everything


def some(functions):
    return ', '.join(functions[:4]) + (f' and {len(functions) - 4} more' if len(functions) > 4 else '')


def hint_on_links(file):
    """What to do about the links of one file to the driver and the runtime."""
    linked = {each.kind: each.name for each in file.needs if each.kind in ('driver', 'runtime')}
    options = ('cuda.lib', 'cudart.lib') if file.binary.is_pe else ('-lcuda', '-lcudart')
    option = dict(zip(('driver', 'runtime'), options))
    used = file.functions(*linked)
    interop = [name for name in used if INTEROP_FUNCTION.fullmatch(name)]
    kept = {function_kind(name) for name in interop}
    replaced = ' and '.join(option[kind] for kind in linked if kind not in kept)
    hint = f'{file.name} links {" and ".join(linked.values())}'
    if file.binary.imports and not used:
        return hint + (' but uses none of its functions: leave it out of the link, or link with -Wl,--as-needed. Code '
                       'that looks functions up by name (dlsym) must then load it itself.')
    if file.parts and 'cushim-dropin' in file.parts['dropins']:
        hint += " but also contains cushim's drop-in" + (f': remove {replaced} from its link.' if replaced else '.')
    elif len(interop) < len(used) or not used:
        dropin = 'cushim-dropin' if 'runtime' in linked or file.functions('runtime') else 'cushim-dropin-driver'
        hint += f': link {dropin}' + (f' in place of {replaced}.' if replaced else '.')
        if 'runtime' in linked and 'runtime' not in kept:
            hint += ' Or link cushim-dropin-driver and the static libcudart: nvcc and CMake link that one, unless ' \
                    'they are passed -cudart shared or CUDA_RUNTIME_LIBRARY Shared.'
    if interop:
        hint += f' Keep {" and ".join(option[kind] for kind in kept)} after the drop-in for {some(interop)}, which ' \
                'it lacks; to start without CUDA, move that code into a library that the program loads when it has ' \
                'found CUDA.'
    return hint if file.needed_by is None else \
        hint + ' If you do not build it, load it when the program has found CUDA, instead of linking it.'


def hint_on_toolkit(file, library):
    hint = f'{file.name} links {library.name}'
    if library.dropin and file.parts and library.dropin in file.parts['dropins']:
        return hint + ' but also contains its drop-in: remove it from the link.'
    return hint + (
        f': link {library.dropin} in place of it (built with -Dlibraries={library.dropin.split("-")[1]}).'
        if library.dropin else ': cushim does not replace it. Move the code that uses it into a library that the '
        'program loads when it has found CUDA.')


def audit(path, search):
    everything = dependencies(path, search)
    own = [each for each in everything if each.binary and each.is_own]
    links = [(each, needed) for each in everything for needed in each.needs
             if needed.kind in ('driver', 'runtime') or (each.is_own and needed.kind == 'toolkit')]
    first, hints, undefined = everything[0], [], False
    defined = set().union(*(each.binary.defined for each in own))
    for file in own:
        replaced = [each.kind for each in file.needs if each.kind in ('driver', 'runtime')]
        hints += [hint_on_links(file)] if replaced else []
        hints += [hint_on_toolkit(file, each) for each in file.needs if each.kind == 'toolkit']
        for kind in {'driver', 'runtime'}.difference(replaced) if not file.binary.is_pe else ():
            linkers = [f'finds them only because {each.name} links {needed.name}'
                       for each, needed in links if needed.kind == kind]
            if functions := [name for name in file.functions(kind) if name not in defined | file.binary.optional]:
                undefined = undefined or not linkers
                hints.append(f'{file.name} uses {some(functions)} but ' + (
                    linkers or ['no file that is loaded with it defines them'])[0] +
                    ': link cushim-dropin into it, or cushim-dropin-exported into the program.')
    static_runtime = first.kind == 'other' and first.binary.has_static_runtime()
    if static_runtime:
        hints.append('The static libcudart loads the driver on its first call: the program starts without it.')
    not_found = [each for each in everything if not each.binary and each.kind == 'other']
    return {
        'path': path, 'problem': None, 'format': first.binary.architecture, 'program': first.binary.is_program,
        'needs_cuda': bool(links) or (first.binary.is_program and not not_found and undefined),
        'needed': [{'library': needed.name, 'kind': needed.kind, 'drop_in': needed.dropin, 'chain': [
            loader.name for loader in reversed(each.loaders)] + [needed.name]} for each, needed in links],
        'loads_later': first.binary.loads_later,
        'uses': [{'file': each.name, 'functions': functions} for each in own
                 if (functions := each.functions('driver', 'runtime'))],
        'cushim': [{'file': each.name, **each.parts} for each in own if each.parts],
        'static_runtime': static_runtime,
        'not_found': [{'library': each.name, 'needed_by': each.needed_by.name, 'problem': each.problem or None}
                      for each in not_found],
        'hints': hints}


def text_of(found):
    if found['problem']:
        return [f'{found["path"]}: cannot be audited: {found["problem"]}']
    verdict = [['can be loaded without CUDA', 'starts without CUDA'],
               ['needs CUDA to be loaded', 'needs CUDA at start-up']][found['needs_cuda']][found['program']]
    limits = ', as far as its libraries were found' if found['not_found'] and not found['needs_cuda'] else ''
    lines = [f'{found["path"]}: {verdict}{limits}', f'  file       {found["format"]}']
    lines += ['  needs      ' + ' -> '.join(each['chain']) for each in found['needed']]
    lines += ['  later      DLLs on the first call, which objdump does not name'] if found['loads_later'] else []
    lines += [f'  uses       {each["file"]}: {some(each["functions"])}' for each in found['uses']]
    lines += [f'  contains   {each["file"]}: ' + ', '.join(filter(None, (each['version'], *each['dropins'])))
              for each in found['cushim']]
    lines += ["  contains   NVIDIA's static libcudart"] if found['static_runtime'] else []
    lines += [f'  not found  {each["library"]}, needed by {each["needed_by"]}' + (
        f' ({each["problem"]})' if each['problem'] else '') for each in found['not_found']]
    return lines + [f'  hint: {hint}' for hint in found['hints']]


def main():
    parser = argparse.ArgumentParser(prog='cushim-audit', description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--json', action='store_true', help='print one JSON object')
    parser.add_argument('--root', default='/', help='root folder of the file system of the files; default /')
    parser.add_argument('files', nargs='+', metavar='FILE', help='a program or library, ELF or PE')
    given = parser.parse_args()
    audits, search = [], Search(given.root)
    for path in given.files:
        try:
            audits.append(audit(path, search))
        except (Unreadable, OSError, ValueError) as error:
            audits.append({'path': path, 'problem': str(error)})
    lines = [json.dumps({'audits': audits}, indent=2)] if given.json else sum(map(text_of, audits), [])
    try:
        for line in lines:
            print(line if given.json else ''.join(c if c.isprintable() else '?' for c in line))
        sys.stdout.flush()
    except OSError as error:
        sys.stderr.write(f'cushim-audit: cannot write the output: {error}\n')
        os._exit(NOT_AUDITED)  # the interpreter would write again
    return max(NOT_AUDITED if each['problem'] else NEEDS_CUDA if each['needs_cuda'] else STARTS for each in audits)


if __name__ == '__main__':
    sys.exit(main())
