#!/usr/bin/env python3
"""Prints the path of a file of each library that a linker can take, one on each line; fails if one is missing.

Arguments: the folder of a toolkit, then names such as cublas. A development file (libcublas.so) is preferred to one
with a version (libcublas.so.13), which machines without the toolkit's development packages have.
"""

import glob
import os
import re
import subprocess
import sys


def folders(toolkit):
    real = os.path.realpath(toolkit)  # a toolkit's include may be a link: Ninja shortens include/../lib to lib
    yield from (os.path.join(real, name) for name in ("lib64", "lib", "lib64/stubs", "lib/stubs"))
    yield from os.environ.get("LD_LIBRARY_PATH", "").split(":")
    cache = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True).stdout
    yield from sorted({os.path.dirname(path) for path in re.findall(r"=> (/\S+)", cache)})


def main():
    toolkit, names = sys.argv[1], sys.argv[2:]
    searched = [folder for folder in folders(toolkit) if folder]
    for name in names:
        for ending in ("", ".*"):
            files = [path for folder in searched
                     for path in sorted(glob.glob(os.path.join(glob.escape(folder), f"lib{name}.so{ending}")))
                     if os.path.isfile(path)]  # not a link without a target
            if files:
                print(os.path.realpath(files[0]) if ending else files[0])
                break
        else:
            sys.exit(f"lib{name}.so is not in {', '.join(searched)}")


if __name__ == "__main__":
    main()
