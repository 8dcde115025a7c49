// A shared library that contains its own cushim. Built twice, with different names for its
// functions.
#include <cushim/cushim.hpp>
#include <cushim/override.hpp>

#include <cstring>

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

#ifdef WITH_GRAPHS
// Whether the result of a rejected call comes from the copy that was called: it waits in a variable
// of its thread.
EXPORTED int JOIN(NAME, _rejects)() {
    const auto added = cushim::Graph().add_memset_node({}, cushim::DeviceSpan<float>(), 1.0F);
    return !added && std::strcmp(added.error().message(),
                                 "Graph::add_memset_node: the Graph holds no graph") == 0;
}
#endif

EXPORTED int JOIN(NAME, _overridden)() {
    cushim::ScopedOverride<cushim::entry::cuInit> init(
        [](unsigned int) { return static_cast<CUresult>(12345); });
    const int other = other_init();
    return cushim::driver().cuInit(0) == 12345 ? other : -1;
}
