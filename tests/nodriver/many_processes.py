"""usage: many_processes.py COUNT RUNTIME PROGRAM [ARGUMENT...]

Runs PROGRAM COUNT times, each time in a new process in which the system's search finds RUNTIME. For races that
can happen once in a process. Exits with 77 if every process does.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

count, runtime, *command = sys.argv[1:]
statuses = []
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / os.path.basename(runtime)).symlink_to(runtime)
    for number in range(int(count)):
        done = subprocess.run(command, env={**os.environ, 'LD_LIBRARY_PATH': folder}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        statuses.append(done.returncode)
        if done.returncode not in (0, 77):
            print(f'process {number} exited with {done.returncode}:\n{done.stdout}')
failed = sum(status not in (0, 77) for status in statuses)
print(f'{failed} of {count} processes failed')
sys.exit(1 if failed else 77 if set(statuses) == {77} else 0)
