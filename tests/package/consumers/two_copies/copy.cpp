// A shared library that contains its own cushim. Built twice, with different names for its
// functions.
#include <cushim/cushim.hpp>
#include <cushim/override.hpp>

#include <cstddef>
#include <cstdio>
#include <cstring>

#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)
#define TEXT_NOW(a) #a
#define TEXT(a) TEXT_NOW(a)
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
// Whether a rejected call has the right result, which waits in a variable of its thread: each copy
// has its own, and the functions in headers may be those of the other copy.
EXPORTED int JOIN(NAME, _rejects)() {
    static int place;
    cushim::ScopedOverride<cushim::entry::cuInit> init([](unsigned int) { return CUDA_SUCCESS; });
    cushim::ScopedOverride<cushim::entry::cuGraphCreate> create([](CUgraph *graph, unsigned int) {
        *graph = reinterpret_cast<CUgraph>(&place);
        return CUDA_SUCCESS;
    });
    cushim::ScopedOverride<cushim::entry::cuGraphDestroy> destroy(
        [](CUgraph) { return CUDA_SUCCESS; });
    auto graph =
        cushim::Graph::create(cushim::Context::borrow(reinterpret_cast<CUcontext>(&place)));
    if (!graph) {
        return 0;
    }
    // Of different sizes in both copies, so that the messages differ.
    const std::size_t size = 4 * sizeof TEXT(NAME);
    const cushim::DeviceSpan<float> to(0x1000, size), overlapping(0x1004, size);
    char expected[128];
    std::snprintf(expected, sizeof expected,
                  "Graph::add_memcpy_node: rows of source [0x1004, 0x%zx) and destination "
                  "[0x1000, 0x%zx) overlap",
                  0x1004 + size * sizeof(float), 0x1000 + size * sizeof(float));
    const auto added = graph->add_memcpy_node({}, to, overlapping);
    return !added && std::strcmp(added.error().message(), expected) == 0;
}
#endif

EXPORTED int JOIN(NAME, _overridden)() {
    cushim::ScopedOverride<cushim::entry::cuInit> init(
        [](unsigned int) { return static_cast<CUresult>(12345); });
    const int other = other_init();
    return cushim::driver().cuInit(0) == 12345 ? other : -1;
}
