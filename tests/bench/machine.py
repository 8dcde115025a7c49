"""The facts that belong to figures: where and with what they were measured."""

import datetime
import os
import platform
import re
import shutil

from workshop import call


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"^model name\s*:\s*(.*)$", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def system():
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except OSError:
        return platform.platform()


def version(command):
    if shutil.which(command) is None:
        return "none"
    return call([command, "--version"]).splitlines()[0]


def is_busy():
    return os.getloadavg()[0] > len(os.sched_getaffinity(0))


def describe(workshop):
    packed = workshop.kit("g++", "static").cuda_version()
    libc = " ".join(platform.libc_ver()).strip()
    return {
        "date": datetime.date.today().isoformat(),
        "processor": f"{processor()}, {len(os.sched_getaffinity(0))} cores",
        "system": f"{system()}, Linux {platform.release()}, {libc}",
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()) + " (1, 5, 15 minutes)",
        "g++": version("g++"),
        "clang++": version("clang++"),
        "linker": version("ld"),
        "CUDA headers": f"{packed // 1000}.{packed % 1000 // 10}",
        "built": "-O2, library and programs",
    }
