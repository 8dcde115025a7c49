"""Shared by the tests of cushim-info --audit: the tool, the programs of the build, and checks."""

import json
import os
import pathlib
import tempfile
import unittest

from tool import Tool, options

import made_elf  # of the support folder, whose path tool.py adds
import made_pe

STARTS, NEEDS_CUDA, NOT_AUDITED = 0, 1, 2  # exit statuses
CORE, DROPIN, LIBRARY = 0x101, 0x102, 0x103  # types of cushim notes


class Given:
    """The command line of the test."""

    given = options.of_command_line()
    tool = Tool(given.words)  # preceded by an emulator if it needs one
    built = os.path.abspath(given.text('built'))  # folder of the built programs
    version = given.text('version')  # version of the project


def built(name, library=False):
    """The path of a built program or library."""
    ending = ('.dll' if library else '.exe') if Given.tool.windows else '.so' if library else ''
    return os.path.join(Given.built, name + ending)


class AuditCase(unittest.TestCase):
    """Files in a temporary folder, and audits of them."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # Not overwritten, because ext4 waits for the disk when a file is emptied and rewritten.
        pathlib.Path(path).unlink(missing_ok=True)
        with open(path, 'wb') as file:
            file.write(data)
        return path

    def run_tool(self, *arguments):
        """Runs the tool on files that may change between runs, which Given.tool.run must not."""
        return Given.tool.run_again(arguments, {})

    def audit(self, path, *options):
        """The audit of one file in JSON. Checks that exit status and text agree with it."""
        arguments = [*options, Given.tool.path(path)]
        done = self.run_tool('--audit', '--json', *arguments)
        self.assertEqual(done.stderr, b'')
        [found] = json.loads(done.stdout)['audits']
        self.assertEqual(found['path'], Given.tool.path(path))
        text = self.run_tool('--audit', *arguments)
        self.assertEqual(text.returncode, done.returncode)
        self.text = text.stdout.decode()
        verdict = self.text.splitlines()[0]
        if found['problem']:
            self.assertEqual(done.returncode, NOT_AUDITED)
            self.assertIn('cannot be audited: ' + found['problem'], verdict)
        elif found['needs_cuda']:
            self.assertEqual(done.returncode, NEEDS_CUDA)
            self.assertRegex(verdict, ': needs CUDA (at start-up|to be loaded)$')
        else:
            self.assertEqual(done.returncode, STARTS)
            self.assertRegex(verdict, ': (starts|can be loaded) without CUDA')
        for chain in found.get('needed', []):
            self.assertIn(' -> '.join(chain['chain']), self.text)
        return found

    def audit_in_root(self, path):
        return self.audit(path, '--root', Given.tool.path(self.folder))

    def place(self, name, **what):
        return self.write(name, made_elf.make(**what))

    def library(self, name, **what):
        return self.place(name, program=False, **what)

    def audit_app(self, **what):
        """Audits a program in the root that holds the libraries."""
        return self.audit_in_root(self.place('app', **what))

    def dll(self, name, **what):
        return self.write(name, made_pe.make(dll=True, **what))

    def audit_exe(self, **what):
        return self.audit(self.write('app.exe', made_pe.make(**what)))

    def not_found(self, found):
        return [library['library'] for library in found['not_found']]

    def chains(self, found, what='needed'):
        return [chain['chain'] for chain in found[what]]

    def advice(self, found):
        return '\n'.join(found['what_to_do'])
