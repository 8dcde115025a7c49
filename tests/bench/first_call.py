"""The cost of the first call in addition to bare dlopen and dlsym, each in a fresh process."""

from figures import Figure
from measure import alternate, medians, printed_number

PROCESSES = 201
ABOVE_BARE_US = 20


def measure(workshop, repeatable):
    if repeatable:
        return []
    kit = workshop.kit("g++", "static")
    driver, runtime = workshop.fake_driver(), workshop.fake_runtime()

    def build(suffix, *flags):
        return {
            "bare": workshop.program(f"first_raw{suffix}", "g++", "first_use_raw.cpp", flags),
            "table": workshop.program(
                f"first_table{suffix}", "g++", "first_use_table.cpp",
                [*kit.flags, *flags, *kit.link_flags]),
        }

    plain = build("")
    # Like an installed driver, found by name.
    found = build("_found", f"-Wl,-rpath,{driver.parent}")
    names = {"FIRST_USE_DRIVER": driver.name, "FIRST_USE_RUNTIME": runtime.name}
    cases = {
        "driver, by name": ("init", found, names),
        "driver, LD_LIBRARY_PATH": (
            "init", plain, names | {"LD_LIBRARY_PATH": str(driver.parent)}),
        "driver, CUSHIM_DRIVER": (
            "init", plain, {"CUSHIM_DRIVER": str(driver), "FIRST_USE_DRIVER": str(driver)}),
        "driver and runtime, by name": ("runtime", found, names),
    }
    figures = []
    for name, (which, programs, environment) in cases.items():
        figures += compare(name, which, programs, environment)
    return figures


def compare(name, which, programs, environment):
    def run(program):
        return lambda: printed_number(program, which, **environment) / 1000

    results = medians(alternate(PROCESSES, {key: run(p) for key, p in programs.items()}))
    added = results["table"] - results["bare"]
    return [
        Figure(f"{name}: bare dlopen + dlsym", results["bare"], "us"),
        Figure(f"{name}: first call", results["table"], "us"),
        Figure(f"{name}: added", added, "us", limit=ABOVE_BARE_US),
    ]
