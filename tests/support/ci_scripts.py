"""The scripts of tools/ci, imported as modules."""

import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tools/ci"
sys.path.insert(0, str(FOLDER))

import check_counts  # noqa: E402, F401
import check_includes  # noqa: E402, F401
import gpu_report  # noqa: E402, F401


def record(output, result="OK", name="cushim:gpu / gpu-one", errors=""):
    """A record like those in Meson's log."""
    return {"name": name, "result": result, "stdout": output, "stderr": errors, "duration": 1.5}
