// A shared library that contains its own cushim. Built twice, with different names for its
// functions.
#include <cushim/cushim.hpp>

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)
#define EXPORTED extern "C" __attribute__((visibility("default")))

extern "C" int other_init(); // defined by the program

EXPORTED int JOIN(NAME, _state)() {
    return cushim::load_report().driver.state;
}

EXPORTED int JOIN(NAME, _init)() {
    return cushim::driver().cuInit(0);
}

// The number of entry points that a call of this copy resolves.
EXPORTED unsigned long JOIN(NAME, _resolve)() {
    return cushim::resolve_all();
}

EXPORTED int JOIN(NAME, _overridden)() {
    cushim::ScopedOverride<cushim::entry::cuInit> init(
        [](unsigned int) { return static_cast<CUresult>(12345); });
    const int other = other_init();
    return cushim::driver().cuInit(0) == 12345 ? other : -1;
}
