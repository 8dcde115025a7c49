// A program and a library that use one shared cushim: they have one table.
#include <cstdio>
#include <cstdlib>

#include <cushim/override.hpp>
#include <cushim/table.hpp>

extern "C" {
int library_init();
void *library_slot();
void *library_first();
int library_overrides(int (*init)());
}

using Entry = cushim::entry::cuInit;
using cushim::detail::first_of;
using cushim::detail::slot_of;

static int init() {
    return cushim::driver().cuInit(0);
}

static void expect(bool holds, const char *what) {
    if (!holds) {
        std::printf("%s\n", what);
        std::exit(1);
    }
}

int main() {
    expect(slot_of<Entry>() == library_slot(), "the program and the library have one slot");
    expect(reinterpret_cast<void *>(first_of<Entry>()) == library_first(),
           "the program and the library have one first-call function");
    expect(*slot_of<Entry>() == first_of<Entry>(),
           "the slot is not resolved before the first call");
    const int status = init();
    expect(*slot_of<Entry>() != first_of<Entry>(), "the first call resolves the slot");
    expect(library_init() == status, "both return the same status");
    expect(cushim::is_available<Entry>(), "the entry point is available");
    expect(cushim::is_available<cushim::entry::cuDeviceGetCount>(),
           "an entry point that was not called is available");
    expect(library_overrides(init), "an override in the library affects the program");
    {
        cushim::ScopedOverride<Entry> overridden(
            [](unsigned int) { return static_cast<CUresult>(12345); });
        expect(library_init() == 12345, "an override in the program affects the library");
        expect(overridden.original()(0) == status, "the override knows the overridden function");
    }
    expect(init() == status && library_init() == status, "the override has ended");
    std::printf("one table, cuInit %d\n", status);
    return 0;
}
