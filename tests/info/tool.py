"""Runs the built cushim-info for the tests."""

import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), '../support'))
import options  # noqa: E402


class Tool:
    """command: the tool, preceded by an emulator if it needs one."""

    def __init__(self, command):
        self.command = command
        self.windows = command[-1].endswith('.exe')
        self.runs = {}

    def path(self, path):
        """The path for the tool; Wine shows the root folder as drive Z."""
        if self.windows and os.name != 'nt':
            return 'Z:' + path.replace('/', '\\')
        return path

    def run(self, *arguments, **variables):
        """Runs it once for equal arguments, because a run under an emulator takes seconds."""
        key = (arguments, tuple(sorted(variables.items())))
        if key not in self.runs:
            self.runs[key] = self.run_again(arguments, variables)
        return self.runs[key]

    def run_again(self, arguments, variables):
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(('CUSHIM_', 'FAKE_', 'CUDA_'))
                       or name == 'CUSHIM_WINEPREFIX'}
        environment.update(variables)
        return subprocess.run([*self.command, *arguments], env=environment, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)

    def text(self, *arguments, **variables):
        """The output of a run that must succeed."""
        done = self.run(*arguments, **variables)
        errors = done.stderr.decode(errors='replace')
        assert done.returncode == 0, f'exit {done.returncode}: {errors}'
        return done.stdout.decode('utf-8')

    def json(self, *arguments, **variables):
        return json.loads(self.text('--json', *arguments, **variables))
