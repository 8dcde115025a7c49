"""The machine code of objects, archives and libraries, and the protections they are marked for, from binutils."""

import dataclasses
import re
import subprocess

# Instructions at which an indirect jump may land; paciasp also signs the return address.
LANDING_PAD = re.compile(r'(endbr64|bti\s+j?c|paciasp)\b')
PADDING = re.compile(r'(data16 |cs )*(nop|xchg +%ax,%ax|int3|udf)')


@dataclasses.dataclass
class Function:
    name: str
    file: str  # the object, or the member of an archive
    section: str
    instructions: list = dataclasses.field(default_factory=list)

    @property
    def has_landing_pad(self):
        return bool(self.instructions) and bool(LANDING_PAD.match(self.instructions[0]))

    @property
    def work(self):
        """The instructions, without a landing pad that has no other effect."""
        padded = self.has_landing_pad and not self.instructions[0].startswith('paciasp')
        return self.instructions[1 if padded else 0:]


def run(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True,
                          text=True).stdout


def functions(objdump, path):
    """All functions of a file. Version suffixes of names are removed."""
    found, file, section = [], None, None
    for line in run(objdump, '-d', '--no-show-raw-insn', path).splitlines():
        if match := re.match(r'(\S.*): +file format ', line):
            file = match.group(1)
        elif match := re.match(r'Disassembly of section (.+):$', line):
            section = match.group(1)
        elif match := re.match(r'[0-9a-f]+ <([^@]+)(@.*)?>:$', line):
            found.append(Function(match.group(1), file, section))
        elif match := re.match(r' +[0-9a-f]+:\t(\S.*?)(\s+([#<]|//).*)?$', line):
            if not PADDING.match(match.group(1)):
                found[-1].instructions.append(match.group(1))
    return found


def protections(readelf, path):
    """The protections a file is marked for: IBT, SHSTK, BTI, PAC. For an archive, those of each member."""
    texts = re.split(r'^File: ', run(readelf, '-n', path), flags=re.M)
    members = [text for text in texts if text.strip()] or ['']
    return [set(re.findall(r'\b(IBT|SHSTK|BTI|PAC)\b', text)) for text in members]
