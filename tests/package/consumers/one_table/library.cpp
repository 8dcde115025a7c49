// A library that uses the shared cushim of the program that loads it.
#include <cushim/override.hpp>
#include <cushim/table.hpp>

using Entry = cushim::entry::cuInit;

extern "C" {

int library_init() {
    return cushim::driver().cuInit(0);
}

void *library_slot() {
    return cushim::detail::slot_of<Entry>();
}

void *library_first() {
    return reinterpret_cast<void *>(cushim::detail::first_of<Entry>());
}

// Whether an override of the library affects the given function of the program.
int library_overrides(int (*init)()) {
    cushim::ScopedOverride<Entry> overridden(
        [](unsigned int) { return static_cast<CUresult>(12345); });
    return init() == 12345;
}
}
