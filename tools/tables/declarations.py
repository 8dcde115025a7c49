"""Reads the declarations of preprocessed headers.

Not a C++ parser. Source splits a text into tokens and these into declarations. A function becomes a row only if
functions_of() understands each token of its declaration. Any other declaration that may have one of the wanted names
and is in the library is reported by one line, never dropped silently.
"""

import bisect
import dataclasses
import os
import re

LETTER = r'(?:[^\W\d]|\$|\\u[0-9a-fA-F]{4}|\\U[0-9a-fA-F]{8})'
TOKEN = re.compile(
    r'(?P<directive>^[ \t]*#[^\n]*)|'
    r'(?:(?:u8|[uUL])?R"(?P<mark>[^()\\\s]{0,16})\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
    rf"|{LETTER}(?:\d|{LETTER})*|\.?\d(?:[eEpP][+-]|'\w|[\w.])*|\.\.\.|::|->|[=!<>]=|<<|&&|\|\||\S)", re.M | re.S)
LINE_MARKER = re.compile(r'#\s*(?:line\s+)?(?P<line>\d+)\s+"(?P<file>(?:[^"\\]|\\.)*)"')
BRACKETS = {')': '(', ']': '[', '}': '{'}

QUALIFIERS = {'const', 'volatile'}
BUILT_IN = {'unsigned', 'signed', 'long', 'short', 'int', 'char', 'float', 'double', 'bool', 'void', '_Bool', 'wchar_t',
            'char8_t', 'char16_t', 'char32_t', '__int128'}
TAGS = {'struct', 'union', 'enum'}
TYPES = TAGS | {'class'}
KEYWORDS = QUALIFIERS | BUILT_IN | TAGS | set(
    'alignas alignof and and_eq asm auto bitand bitor break case catch class co_await co_return '
    'co_yield compl concept consteval constexpr constinit const_cast continue decltype default '
    'delete do dynamic_cast else explicit export extern false for friend goto if inline mutable '
    'namespace new noexcept not not_eq nullptr operator or or_eq private protected public '
    'register reinterpret_cast requires return sizeof static static_assert static_cast switch '
    'template this thread_local throw true try typedef typeid typename using virtual while xor '
    'xor_eq'.split())
# A function with one of these is not in the library.
INLINE = {'static', 'inline', '__inline__', '__inline', '__forceinline', 'constexpr', 'consteval'}
# Words that affect neither the type of a function nor how it is called. On 64-bit systems, these
# conventions are one.
IGNORED = INLINE | {'extern', '"C"', '__extension__', '__stdcall', '__cdecl', '__fastcall', '__restrict',
                    '__restrict__', 'restrict', '_Noreturn'}
ATTRIBUTES = {'__attribute__', '__attribute', '__declspec'}
PRAGMAS = {'__pragma', '_Pragma'}
# Words before a group in parentheses that declares nothing.
WITH_GROUP = ATTRIBUTES | PRAGMAS | {'__asm__', '__asm', 'asm', 'alignas', '_Alignas', 'noexcept', 'throw', 'decltype',
                                     'requires'}
# Attributes that change neither a type nor how a function is called.
HARMLESS = set(
    'access alloc_align alloc_size always_inline artificial assume_aligned availability cdecl '
    'cold const deprecated device_builtin diagnose_if dllexport dllimport error fallthrough '
    'fastcall flatten format format_arg gnu_inline host hot leaf malloc maybe_unused '
    'no_instrument_function nodiscard noescape noinline nonnull nothrow '
    'null_terminated_string_arg pure returns_nonnull sentinel stdcall tainted_args unavailable '
    'unused used visibility warn_unused_result warning weak zero_call_used_regs'.split())
# What begins a declaration without a symbol of its own.
NO_SYMBOL = {'typedef', 'using', 'template', 'static_assert', '_Static_assert', 'friend', 'namespace'}


@dataclasses.dataclass
class Parameter:
    """Its type is `before` + `after`: "CUdeviceptr *" and "", "void (*" and ")(void *)"."""
    name: str
    before: str
    after: str = ''
    default: str = ''

    @property
    def type(self):
        """As in a cast."""
        return self.before + self.after

    @property
    def declaration(self):
        """As in a prototype."""
        return f'{self.before}{"" if self.after else " "}{self.name}{self.after}'


@dataclasses.dataclass
class Function:
    name: str
    result: str
    parameters: list
    exceptions: str = ''  # "noexcept", as it is declared

    def signature(self):
        return (self.result, tuple(p.type for p in self.parameters))


class NotUnderstood(Exception):
    """A construct that this reader does not know."""


class Damaged(Exception):
    """The headers are damaged; the message is one line that begins with file and line."""


class Source:
    """A preprocessed text as tokens, which know their file and line, with their brackets matched."""

    def __init__(self, preprocessed):
        self.text, self.tokens, self.offsets = preprocessed, [], []
        # For each line marker: the index of the token after it, the offset of its end, file and line.
        self.markers = [(0, -1, '(no file)', 1)]
        for match in TOKEN.finditer(preprocessed):
            if match['directive'] is None:
                self.tokens.append(match[0])
                self.offsets.append(match.start())
            else:
                marker = LINE_MARKER.match(match[0].lstrip())
                if marker:
                    file = marker['file'].replace('\\\\', '/')
                    self.markers.append((len(self.tokens), match.end(), file, int(marker['line'])))
        self.firsts = [marker[0] for marker in self.markers]
        self.ends = self.matched_brackets()

    def marker(self, index):
        return self.markers[bisect.bisect_right(self.firsts, index) - 1]

    def file(self, index):
        """The path of the file of a token."""
        return self.marker(index)[2]

    def place(self, index):
        """The position of a token: "/usr/local/cuda/include/cuda.h:12"."""
        _, end, file, line = self.marker(index)
        return f'{file}:{line + self.text.count(chr(10), end + 1, self.offsets[index])}'

    def matched_brackets(self):
        """The index of the closing bracket by that of the opening one."""
        ends, opened = {}, []
        for index, token in enumerate(self.tokens):
            if token in ('(', '[', '{'):
                opened.append(index)
            elif token in BRACKETS:
                if not opened:
                    raise Damaged(f'{self.place(index)}: {token} was never opened')
                if self.tokens[opened[-1]] != BRACKETS[token]:
                    break
                ends[opened.pop()] = index
        if opened:
            raise Damaged(f'{self.place(opened[-1])}: {self.tokens[opened[-1]]} is never closed')
        return ends

    def words(self, wanted):
        """The tokens of files whose names `wanted` accepts."""
        found = set()
        for (first, _, file, _), last in zip(self.markers, self.firsts[1:] + [len(self.tokens)]):
            if last > first and wanted(os.path.basename(file)):
                found.update(self.tokens[first:last])
        return found

    def top(self, start, stop):
        """The indexes of the tokens outside of brackets and attributes; of brackets, that of the opening one."""
        found, index = [], start
        while index < stop:
            token = self.tokens[index]
            if token in WITH_GROUP and self.tokens[index + 1:index + 2] == ['(']:
                index = self.ends[index + 1]
            elif token != '[' or self.tokens[index + 1] != '[':
                found.append(index)
            index = self.ends.get(index, index) + 1
        return found

    def declarations(self):
        """Yields (start, stop, whether it has C linkage, whether it is in a namespace) of the declarations outside of
        types and functions."""
        start = index = after_angles = 0
        scopes = [(len(self.tokens), False, False)]
        while index <= len(self.tokens):
            token = self.tokens[index] if index < len(self.tokens) else ''
            if index == scopes[-1][0] or token == ';':
                if index > start:
                    yield start, index, *self.linkage(start, *scopes[-1][1:])
                if token != ';':
                    scopes.pop()
                start = index + 1
            elif token == '{':
                end, head = self.ends[index], [self.tokens[i] for i in self.top(max(start, after_angles), index)]
                if self.tokens[max(start, index - 2):index] in (['extern', '"C"'], ['extern', '"C++"']):
                    scopes.append((end, self.tokens[index - 1] == '"C"', scopes[-1][2]))
                    start = index + 1
                elif 'namespace' in head and '=' not in head:
                    scopes.append((end, scopes[-1][1], True))
                    start = index + 1
                else:
                    index = end
                    if self.is_function(head):
                        yield start, end + 1, *self.linkage(start, *scopes[-1][1:])
                        start = end + 1
            elif token == '<' and self.tokens[index - 1] == 'template':
                index = self.end_of_angles(index)
                after_angles = index + 1
            else:
                index = self.ends.get(index, index)
            index += 1

    def linkage(self, start, is_c, in_namespace):
        if self.tokens[start:start + 2] in (['extern', '"C"'], ['extern', '"C++"']):
            is_c = self.tokens[start + 1] == '"C"'
        return is_c, in_namespace

    @staticmethod
    def is_function(head):
        """Whether braces after these tokens are the body of a function; else, the declaration continues after them."""
        return not head or head[0] != 'typedef' and '(' in head and ('=' not in head or 'operator' in head)

    def end_of_angles(self, index):
        """The index of the > that closes a template's list of parameters."""
        depth, at = 0, index
        while at < len(self.tokens) and self.tokens[at] not in (';', '{', '}'):
            depth += (self.tokens[at] == '<') - (self.tokens[at] == '>')
            if depth == 0:
                return at
            at = self.ends.get(at, at) + 1
        return at - 1


def spell(tokens):
    text = ' '.join(tokens)
    return re.sub(r'\s*([(),\[\]])\s*', r'\1', text).replace(',', ', ').replace('(*', ' (*').strip()


def spell_type(text):
    """A type as the results of functions are spelled."""
    return spell(match[0] for match in TOKEN.finditer(text))


def zero_of(declaration):
    """The default 0 of a parameter, without a warning of -Wzero-as-null-pointer-constant: handles are pointers."""
    if '*' in declaration:
        return 'nullptr'
    return '0' if declaration.split()[-1] in BUILT_IN | {'size_t'} else '{}'


def is_name(token):
    return re.fullmatch(r'[A-Za-z_]\w*', token, re.A) is not None and token not in KEYWORDS


class Reader:
    """Reads the declaration of one function. Raises NotUnderstood unless each of its tokens is known."""

    def __init__(self, source, start, stop):
        self.source, self.tokens, self.at, self.stop = source, source.tokens, start, stop

    @property
    def token(self):
        return self.tokens[self.at] if self.at < self.stop else ''

    def take(self):
        token = self.token
        self.at += 1
        return token

    def inside(self):
        """A reader of the brackets at this token, which are then read."""
        start, self.at = self.at + 1, self.source.ends[self.at] + 1
        return Reader(self.source, start, self.at - 1)

    def group(self):
        start = self.at
        self.inside()
        return spell(self.tokens[start:self.at])

    def arrays(self):
        text = ''
        while self.token == '[' and self.tokens[self.at + 1] != '[':
            text += self.group()
        return text

    def rest(self):
        return spell(self.tokens[self.at:self.stop])

    def skip_ignored(self):
        while True:
            following = self.tokens[self.at + 1:self.at + 2]
            if self.token in IGNORED:
                self.at += 1
            elif self.token in ATTRIBUTES and following == ['('] or self.token == '[' and following == ['[']:
                self.at += self.token != '['
                group = self.inside()
                if group.token in ('(', '['):
                    group = group.inside()
                group.check_attributes()
            elif self.token in PRAGMAS and following == ['(']:
                self.at += 1
                self.inside()
            else:
                return

    def check_attributes(self):
        while self.at < self.stop:
            name = self.take()
            if self.token == '::':  # of a compiler: gnu::cold
                self.at += 1
            elif name.strip('_') not in HARMLESS and name != ',':
                raise NotUnderstood(f'attribute {name}')
            elif self.token == '(':
                self.inside()

    def type(self):
        """The tokens of a type, without names."""
        kept, kind = [], ''
        while True:
            self.skip_ignored()
            token = self.token
            if token in QUALIFIERS:
                kept.append(self.take())
            elif token in BUILT_IN and kind in ('', 'built in'):
                kind = 'built in'
                kept.append(self.take())
            elif (token in TAGS or token == '::' or is_name(token)) and not kind:
                kind = 'name'
                kept.append(self.take())
                while token in TAGS | {'::'} or self.token == '::':
                    token = self.take()
                    kept.append(token)
                if not is_name(kept[-1]):
                    raise NotUnderstood(spell(kept))
            else:
                break
        if not kind:
            raise NotUnderstood(self.rest())
        while self.token == '*' or self.token in QUALIFIERS:
            kept.append(self.take())
            self.skip_ignored()
        return kept

    def parameter(self):
        """One parameter; its name is empty if it has none."""
        whole = self.rest()
        before, after, name = self.type(), '', ''
        if self.token == '(':  # a pointer to a function or an array: R (*name)(A)
            group = self.inside()
            group.skip_ignored()
            if group.token != '*':
                raise NotUnderstood('parameter ' + whole)
            group.take()
            group.skip_ignored()
            name = group.take() if is_name(group.token) else ''
            if group.at != group.stop or self.token not in ('(', '['):
                raise NotUnderstood('parameter ' + whole)
            before, after = spell(before) + ' (*', ')' + (self.group() if self.token == '(' else self.arrays())
        else:
            name = self.take() if is_name(self.token) else ''
            self.skip_ignored()
            if self.token == '[':  # an array parameter is a pointer
                self.inside()
                before.append('*')
            before, after = spell(before), self.arrays()
            if after:
                before, after = before[:-1].rstrip() + ' (*', ')' + after
        self.skip_ignored()
        default = ''
        if self.token == '=':
            self.at += 1
            # __null is the NULL of some compilers; installed headers are read by others too.
            default, self.at = self.rest().replace('__null', 'nullptr'), self.stop
        if self.at != self.stop or any(mark in default for mark in ('{', '}', ';', '> >')):
            raise NotUnderstood('parameter ' + whole)
        if default == '0':
            default = zero_of(before)
        return Parameter(name, before, after, default)

    def parameters(self):
        """All parameters between two parentheses."""
        if self.at == self.stop or self.tokens[self.at:self.stop] == ['void']:
            return []
        found, stop = [], self.stop
        while True:
            end = self.at
            while end < stop and self.tokens[end] != ',':
                end = self.source.ends.get(end, end) + 1
            self.stop = end
            found.append(self.parameter())
            if end == stop:
                return found
            self.at, self.stop = end + 1, stop

    def function(self):
        result = spell(self.type())
        name = self.token
        if not is_name(name) or self.tokens[self.at + 1:self.stop][:1] != ['(']:
            raise NotUnderstood(self.rest())
        self.at += 1
        function = Function(name, result, self.inside().parameters())
        self.skip_ignored()
        if self.token in ('noexcept', 'throw'):
            start = self.at
            self.at += 1
            if self.token == '(':
                self.inside()
            function.exceptions = ' ' + spell(self.tokens[start:self.at])
            self.skip_ignored()
        if self.at != self.stop:
            raise NotUnderstood(self.rest())
        name_parameters(function)
        return function


def name_parameters(function, is_taken=lambda name: False):
    """Gives names to parameters that have none or one that the generated code cannot use."""
    names = [parameter.name for parameter in function.parameters if parameter.name]
    used = set(names)
    if len(used) < len(names):
        raise NotUnderstood(f'{function.name}: two parameters have one name')
    for number, parameter in enumerate(function.parameters):
        if not parameter.name or parameter.name.startswith('cushim') or is_taken(parameter.name):
            name = f'argument{number}'
            while name in used or is_taken(name):
                name += '_'
            parameter.name = name
            used.add(name)


def declared_name(source, top, prefix):
    """The function or object with a wanted name that a declaration may declare; None for any other."""
    words = [source.tokens[index] for index in top] + ['']
    if 'operator' in words:
        return None
    if words[0] in TYPES and '{' in words and '(' not in words[:words.index('{')]:
        top = top[words.index('{') + 1:]  # the members of a type may call such functions
        words = words[words.index('{') + 1:]
    for number, index in enumerate(top):
        token, before, following = words[number], words[number - 1] if number else '', words[number + 1]
        if is_wanted(token, prefix) and (
                following == '(' or following in ('', ',', '[', '=') and before not in TYPES):
            return token
        if token == '(' and (following == '(' or not is_name(before)):
            inside = source.tokens[index:source.ends[index]]
            return next((inner for inner in inside if is_wanted(inner, prefix)), None)
    return None


def is_wanted(token, prefix):
    return re.match(LETTER, token) is not None and prefix.fullmatch(token) is not None


def forwarded(source, start, stop):
    """The function that an inline function calls with all of its own arguments and does nothing else:
    `f(A a, B b) { return g(a, b); }`. Empty if it does something else, or is not understood."""
    brace = next((index for index in source.top(start, stop) if source.tokens[index] == '{'), stop)
    body = source.tokens[brace + 1:stop - 1]
    body = body[1:] if body[:1] == ['return'] else body
    try:
        parameters = Reader(source, start, brace).function().parameters
    except NotUnderstood:
        return ''
    passed = ' , '.join(parameter.name for parameter in parameters).split()
    return body[0] if body[1:] == ['(', *passed, ')', ';'] else ''


def line_of(source, start, stop, reason):
    """The line that reports a declaration."""
    return one_line(f'{spell(source.tokens[start:min(stop, start + 300)])[:300]} [{str(reason)[:100]}]')


def one_line(text):
    """In ASCII, for messages and C strings."""
    return ' '.join(text.split()).encode('ascii', 'backslashreplace').decode()


def functions_of(source, prefix, wanted=lambda name: True):
    """Of the files whose names `wanted` accepts: the functions in the library, by name; those that the text defines, by
    name, each with the function that it only calls (forwarded); and a line for each declaration that was left out."""
    found, defined, left_out = {}, {}, []
    names = {token for token in set(source.tokens) if prefix.fullmatch(token)}
    for start, stop, is_c, in_namespace in source.declarations():
        words = source.tokens[start:stop]
        if names.isdisjoint(words) or words[0] in NO_SYMBOL or not wanted(os.path.basename(source.file(start))):
            continue
        top = source.top(start, stop)
        name = declared_name(source, top, prefix)
        if name is None:
            continue
        if words[-1] == 'delete' or not INLINE.isdisjoint(source.tokens[index] for index in top):
            defined[name] = forwarded(source, start, stop)
            continue
        try:
            function = Reader(source, start, stop).function()
            known = found.get(name, function if is_c and not in_namespace else None)
            if known is None:
                raise NotUnderstood('in a namespace' if in_namespace else 'outside extern "C"')
            if known.signature() != function.signature():
                raise NotUnderstood('declared twice, differently')
            found[name] = known
        except NotUnderstood as reason:
            left_out.append(line_of(source, start, stop, reason))
    return found, defined, left_out


def typedefs_of(source):
    """The meaning of each typedef name: ('struct', tag) or ('type', text); None for one that is not understood."""
    found = {}
    for start, stop, *_ in source.declarations():
        if source.tokens[start] != 'typedef':
            continue
        words = [source.tokens[index] for index in source.top(start + 1, stop)]
        commas = [number for number, word in enumerate(words) if word == ','] + [len(words)]
        kind, meaning = words[:max(commas[0] - 1, 0)], None
        if kind[:1] == ['enum']:  # its values are not negative
            meaning = ('type', 'unsigned int')
        elif kind[:1] in (['struct'], ['union']) and '*' not in kind and is_name(kind[1] if kind[1:] else ''):
            meaning = (kind[0], kind[1])
        elif kind and '{' not in kind and '(' not in kind:
            meaning = ('type', spell(kind))
        for comma in commas:
            if comma > 0 and is_name(words[comma - 1]):
                found[words[comma - 1]] = meaning if comma == commas[0] or words[comma - 2] == ',' else None
    return found
