"""usage: runtime_alone_test.py PROGRAM RUNTIME

Runs PROGRAM where the system's search finds RUNTIME, under the name that it was built with.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

program, runtime = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / os.path.basename(runtime)).symlink_to(runtime)
    done = subprocess.run([program], env={**os.environ, 'LD_LIBRARY_PATH': folder}, check=False)
sys.exit(done.returncode)
