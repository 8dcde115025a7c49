"""How large the wrappers make a program that uses one topic of them. KB are 1024 bytes, of sections, as in
size.py: with --gc-sections a program pays only for the functions that it calls.
"""

from figures import Figure
from measure import content_size

KB = 1024
# A tenth above what was measured. Without sections of their own for the functions it is 251 to 292 KB.
LIMITS_KB = {"STREAMS": 43, "EVENTS": 44, "DEVICE_MEMORY": 48, "KERNELS": 58, "GRAPHS": 162}


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    flags = ["-s", "-Wl,--gc-sections", *kit.flags, *kit.wrapper_link_flags()]

    def size(*topic):
        return content_size(workshop.program("one_topic", "g++", "one_topic.cpp", [*topic, *flags])) / KB

    loader = size()
    return [Figure("the loader's sections and a program's own", loader, "KB")] + [
        Figure(topic.lower().replace("_", " "), size(f"-D{topic}") - loader, "KB", limit=limit)
        for topic, limit in LIMITS_KB.items()]
