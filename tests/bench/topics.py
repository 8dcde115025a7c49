"""The size that the wrappers add to a program that uses one topic. 1 KB is 1024 bytes of sections, as in size.py.
With --gc-sections a program contains only the functions that it calls.
"""

from figures import Figure
from measure import content_size

KB = 1024
# Above the measured sizes. Without a section for each function they would be 251 to 292 KB.
LIMITS_KB = {"STREAMS": 43, "EVENTS": 44, "DEVICE_MEMORY": 48, "KERNELS": 66, "GRAPHS": 110}


def measure(workshop, repeatable):
    kit = workshop.kit("g++", "static")
    flags = ["-s", "-Wl,--gc-sections", *kit.flags, *kit.wrapper_link_flags()]

    def size(*topic):
        return content_size(workshop.program("one_topic", "g++", "one_topic.cpp", [*topic, *flags])) / KB

    loader = size()
    return [Figure("the loader's sections and a program's own", loader, "KB")] + [
        Figure(topic.lower().replace("_", " "), size(f"-D{topic}") - loader, "KB", limit=limit)
        for topic, limit in LIMITS_KB.items()]
