// cushim in a process with other users of CUDA: a library that is linked to libcudart or opens it,
// and a second copy of cushim. The order must not matter, so coexistence_test.py runs each test
// case in its own process. COEXISTENCE_NEIGHBOUR and COEXISTENCE_PLUGIN name the libraries.
#include <catch2/catch_test_macros.hpp>

#include "../support/ok.hpp"
#include "neighbour.h"
#include "plugin.h"

#include <cushim/cushim.hpp>
#include <cushim/entry.hpp>

#include <cstdlib>
#include <fstream>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <dlfcn.h>

using namespace cushim;
using support::ok;

namespace {

constexpr std::size_t count = 100'003;

// Functions of a library that an environment variable names.
void *open_named(const char *variable) {
    const char *const file = std::getenv(variable);
    if (file == nullptr) {
        SKIP(variable << " is not set");
    }
    void *const library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
        FAIL(dlerror());
    }
    return library;
}

#define DECLARE(type, name, parameters) type(*name) parameters = nullptr;
#define LOAD(type, name, parameters)                                                               \
    name = reinterpret_cast<type(*) parameters>(dlsym(library, #name));                            \
    REQUIRE(name != nullptr);

struct Neighbour {
    Neighbour() {
        void *const library = open_named("COEXISTENCE_NEIGHBOUR");
        NEIGHBOUR_FUNCTIONS(LOAD)
    }
    NEIGHBOUR_FUNCTIONS(DECLARE)
};

struct Plugin {
    Plugin() {
        void *const library = open_named("COEXISTENCE_PLUGIN");
        PLUGIN_FUNCTIONS(LOAD)
    }
    PLUGIN_FUNCTIONS(DECLARE)
};

std::vector<int> numbers_from(int first) {
    std::vector<int> numbers(count);
    std::iota(numbers.begin(), numbers.end(), first);
    return numbers;
}

Context primary() {
    return ok(Context::primary(ok(Device::get(0))));
}

CUcontext current() {
    CUcontext context = nullptr;
    ok(driver().cuCtxGetCurrent(&context));
    return context;
}

std::vector<int> read(const Context &context, DeviceSpan<const int> span) {
    std::vector<int> values(span.size());
    ok(copy(context, std::span(values), span));
    return values;
}

DeviceSpan<int> span_of(int *memory) {
    return {reinterpret_cast<CUdeviceptr>(memory), count};
}

// The libcudart files in the address space of the process.
std::set<std::string> mapped_runtimes() {
    std::set<std::string> files;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        const std::size_t name = line.rfind('/');
        if (name != std::string::npos && line.compare(name + 1, 12, "libcudart.so") == 0) {
            files.insert(line.substr(line.find('/')));
        }
    }
    return files;
}

void check_one_runtime(const void *their_malloc) {
    ok(load_runtime());
    const auto own = ok(runtime().pfn<entry::cudaMalloc>());
    CHECK(reinterpret_cast<void *>(own) == their_malloc);
    for (const std::string &file : mapped_runtimes()) {
        UNSCOPED_INFO(file);
    }
    CHECK(mapped_runtimes().size() == 1);
}

// Each side uses the memory of the other.
void exchange(const Context &context, const Neighbour &neighbour) {
    const auto first = numbers_from(1), second = numbers_from(-7), third = numbers_from(1000);
    int *theirs = nullptr;
    REQUIRE(neighbour.neighbour_make(&theirs, first.data(), count) == 0);
    CHECK(current() == context.native());
    CHECK(read(context, span_of(theirs)) == first);
    ok(copy(context, span_of(theirs), second));
    std::vector<int> values(count);
    REQUIRE(neighbour.neighbour_read(theirs, values.data(), count) == 0);
    CHECK(values == second);

    auto ours = ok(DeviceBuffer<int>::copy_of(context, first));
    REQUIRE(neighbour.neighbour_read(ours.data(), values.data(), count) == 0);
    CHECK(values == first);
    REQUIRE(neighbour.neighbour_write(ours.data(), third.data(), count) == 0);
    CHECK(read(context, ours) == third);
    CHECK(neighbour.neighbour_free(theirs) == 0);
}

void exchange(const Context &context, const Plugin &plugin) {
    const auto first = numbers_from(3), second = numbers_from(-9);
    auto ours = ok(DeviceBuffer<int>::copy_of(context, first));
    std::vector<int> values(count);
    REQUIRE(plugin.plugin_read(ours.native(), values.data(), count) == 0);
    CHECK(values == first);
    REQUIRE(plugin.plugin_write(ours.native(), second.data(), count) == 0);
    CHECK(read(context, ours) == second);

    const DeviceSpan<int> theirs(plugin.plugin_allocate(count), count);
    REQUIRE(theirs.native() != 0);
    ok(copy(context, theirs, first));
    REQUIRE(plugin.plugin_read(theirs.native(), values.data(), count) == 0);
    CHECK(values == first);
    const Stream stream = ok(Stream::create(context));
    REQUIRE(plugin.plugin_fill_in(stream.native(), theirs.native(), 5, count) == 0);
    ok(stream.synchronize());
    CHECK(read(context, theirs) == std::vector<int>(count, 5));
    plugin.plugin_release();
}

} // namespace

TEST_CASE("cushim shares memory with a library that used libcudart first", "[neighbour]") {
    const Neighbour neighbour;
    int *memory = nullptr;
    const auto values = numbers_from(1);
    REQUIRE(neighbour.neighbour_make(&memory, values.data(), count) == 0);
    const CUcontext theirs = current();
    CHECK(theirs != nullptr);
    const Context context = primary();
    CHECK(context.native() == theirs);
    exchange(context, neighbour);
    check_one_runtime(neighbour.neighbour_malloc());
    CHECK(read(context, span_of(memory)) == values);
    CHECK(neighbour.neighbour_free(memory) == 0);
}

TEST_CASE("cushim shares memory with a library that uses libcudart later", "[neighbour]") {
    const Context context = primary();
    auto ours = ok(DeviceBuffer<int>::copy_of(context, numbers_from(2)));
    ok(load_runtime());
    const Neighbour neighbour;
    exchange(context, neighbour);
    check_one_runtime(neighbour.neighbour_malloc());
    CHECK(read(context, ours) == numbers_from(2));
}

// Symbols with STB_GNU_UNIQUE, such as that of std::make_shared, would keep it loaded.
TEST_CASE("a plugin that has not called its copy of cushim is unloaded", "[plugin]") {
    const char *const file = std::getenv("COEXISTENCE_PLUGIN");
    void *const plugin = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    REQUIRE(plugin != nullptr);
    REQUIRE(dlclose(plugin) == 0);
    CHECK(dlopen(file, RTLD_NOW | RTLD_NOLOAD) == nullptr);
}

TEST_CASE("two copies of cushim share memory", "[plugin]") {
    const Context context = primary();
    const Plugin plugin;
    CHECK(plugin.plugin_row() != static_cast<void *>(cushim::detail::slot_of<entry::cuInit>()));
    CHECK(plugin.plugin_primary() == context.native());
    exchange(context, plugin);
    check_one_runtime(plugin.plugin_malloc());
}

TEST_CASE("two copies of cushim share memory if the plugin's copy is used first", "[plugin]") {
    const Plugin plugin;
    CHECK(plugin.plugin_malloc() != nullptr);
    REQUIRE(plugin.plugin_allocate(count) != 0);
    const Context context = primary();
    CHECK(plugin.plugin_primary() == context.native());
    exchange(context, plugin);
    check_one_runtime(plugin.plugin_malloc());
}

/// A stream, and memory that its captures fill.
class Captures {
  public:
    /// Checks that @p graph has @p nodes nodes and fills the memory with @p value.
    void check_fills(const Graph &graph, std::size_t nodes, int value) const {
        CHECK(ok(graph.node_count()) == nodes);
        ok(ok(graph.instantiate()).launch(stream));
        ok(stream.synchronize());
        CHECK(read(context, memory) == std::vector<int>(count, value));
    }

    Context context = primary();
    Stream stream = ok(Stream::create(context));
    DeviceBuffer<int> memory = ok(DeviceBuffer<int>::allocate(context, count));
};

TEST_CASE("a copy of cushim ends the capture that another copy began", "[plugin]") {
    const Plugin plugin;
    Captures captures;
    ok(captures.stream.begin_capture());
    ok(fill(captures.stream, captures.memory, 1));
    void *const made = plugin.plugin_end_capture(captures.stream.native());
    captures.check_fills(ok(Graph::adopt(captures.context, static_cast<CUgraph>(made))), 1, 1);
}

TEST_CASE("a copy of cushim ends the captures into another copy's graph", "[plugin]") {
    const Plugin plugin;
    Captures captures;
    const Stream &stream = captures.stream;
    Graph graph = ok(Graph::create(captures.context));
    const auto begun = stream.begin_capture_to(graph, {});
    if (!begun && (begun.error().kind() == ErrorKind::requires_newer_headers ||
                   begun.error().kind() == ErrorKind::requires_newer_driver)) {
        SKIP("needs CUDA 12.3 to capture into a graph");
    }
    ok(begun);
    ok(fill(stream, captures.memory, 2));
    CHECK(plugin.plugin_end_capture(stream.native()) == graph.native());
    captures.check_fills(graph, 1, 2);
    ok(stream.begin_capture_to(graph, ok(graph.nodes())));
    ok(fill(stream, captures.memory, 3));
    CHECK(plugin.plugin_end_capture_to(stream.native(), graph.native()) == 0);
    captures.check_fills(graph, 2, 3);
}

TEST_CASE("libcudart and two copies of cushim share memory", "[neighbour][plugin]") {
    const Neighbour neighbour;
    const Plugin plugin;
    const auto first = numbers_from(11);
    int *memory = nullptr;
    REQUIRE(neighbour.neighbour_make(&memory, first.data(), count) == 0);
    std::vector<int> values(count);
    REQUIRE(plugin.plugin_read(span_of(memory).native(), values.data(), count) == 0);
    CHECK(values == first);
    const Context context = primary();
    CHECK(plugin.plugin_primary() == context.native());
    CHECK(plugin.plugin_current() == current());
    exchange(context, neighbour);
    exchange(context, plugin);
    check_one_runtime(neighbour.neighbour_malloc());
    CHECK(plugin.plugin_malloc() == neighbour.neighbour_malloc());
    CHECK(neighbour.neighbour_free(memory) == 0);
}
