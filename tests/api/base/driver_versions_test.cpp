// Each feature that some drivers lack reports exactly the version that it requires. The expected
// versions are those of the first CUDA headers with the feature; they do not come from the library.
#include "harness/device_code.hpp"
#include "harness/exported_memory.hpp"
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"

#include <cushim/feature.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/library.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/occupancy.hpp>
#include <cushim/override.hpp>
#include <cushim/runtime_graph.hpp>

using namespace api_test;
using namespace cushim;

namespace {

// The objects that the calls use; every driver can make them.
struct Things {
    Device device;
    Context context;
    Stream stream;
    Module module;
    AnyKernel kernel;
    MemoryPool pool;
    Graph graph;
    GraphNode node;
    GraphExec exec;
};

Things make_things() {
    Things made{ok(Device::get(0)), {}, {}, {}, {}, {}, {}, {}, {}};
    made.context = ok(Context::primary(made.device));
    made.stream = ok(Stream::create(made.context));
    made.module = ok(load_device_code(made.context));
    made.kernel = ok(made.module.kernel("idle"));
    made.pool = ok(MemoryPool::create(made.device));
    made.graph = ok(Graph::create(made.context));
    made.node = ok(made.graph.add_empty_node({}));
    made.exec = ok(made.graph.instantiate());
    return made;
}

template <class T>
Result<void> answer(const Result<T> &result) {
    return result ? Result<void>() : Result<void>(result.error());
}

constexpr std::size_t two_mebibytes = std::size_t(2) << 20;

// Older drivers cannot load the library; kernel_count() must fail before it uses the handle.
Result<void> count_kernels() {
    const auto loaded = Library::load(device_code);
    const Library none = Library::borrow(reinterpret_cast<CUlib_st *>(16));
    return answer((loaded ? *loaded : none).kernel_count());
}

Result<void> add_kernel(Things &on, const LaunchConfig &config) {
    CUSHIM_TRY(const auto idle, on.kernel.as<void()>());
    return answer(on.graph.add_kernel_node({}, idle, config));
}

Result<void> capture_to(Things &on) {
    CUSHIM_TRY_VOID(on.stream.begin_capture_to(on.graph, {}));
    return on.stream.end_capture_to(on.graph);
}

Result<void> let_host_node_in(Things &on) {
    CUSHIM_TRY(const auto place, MappingDevice::make());
    CUSHIM_TRY(const auto mapped, map_new(place, place.unit));
    (void)on;
    return mapped.set_access(AccessGrant::host_numa(0, AccessFlags::read_write));
}

Result<void> grow_with_host_node(Things &on) {
    const AccessGrant grant = AccessGrant::host_numa(0, AccessFlags::read_write);
    GrowableBufferOptions options;
    options.access = std::span(&grant, 1);
    return answer(GrowableBuffer<int>::create(on.device, 100, options));
}

struct Row {
    const char *what;
    Version needed;
    Feature feature;
    Result<void> (*call)(Things &on);
};

const Row rows[] = {
    {"launch attributes", Version::of(11, 6), Feature::launch_attributes,
     [](Things &on) { return on.kernel.launch_unchecked(on.stream, {.priority = 0}, nullptr); }},
    {"disabled nodes", Version::of(11, 6), Feature::graph_node_enable,
     [](Things &on) { return on.exec.set_enabled(on.node, false); }},
    {"cluster occupancy", Version::of(11, 7), Feature::cluster_occupancy,
     [](Things &on) { return answer(max_active_clusters(on.context, on.kernel, {})); }},
    {"the loading mode", Version::of(11, 7), Feature::loading_mode,
     [](Things &) { return answer(Module::loads_lazily()); }},
    {"nodes with their own priorities", Version::of(11, 7), Feature::graph_node_priorities,
     [](Things &on) { return answer(on.graph.instantiate({.use_node_priority = true})); }},
    {"the priority of a node", Version::of(11, 7), Feature::graph_node_priorities,
     [](Things &on) { return add_kernel(on, {.priority = 0}); }},
    {"the cluster of a node", Version::of(11, 8), Feature::graph_node_launch_attributes,
     [](Things &on) { return add_kernel(on, {.cluster = 1}); }},
    {"graphs that the device launches", Version::of(12, 0), Feature::graph_device_launch,
     [](Things &on) { return answer(on.graph.instantiate({.device_launch = true})); }},
    {"libraries", Version::of(12, 0), Feature::library_loading,
     [](Things &) { return answer(Library::load(device_code)); }},
    {"stream ids", Version::of(12, 0), Feature::object_ids,
     [](Things &on) { return answer(on.stream.id()); }},
    {"flags of executable graphs", Version::of(12, 0), Feature::graph_exec_flags,
     [](Things &on) { return answer(on.exec.flags()); }},
    {"an upload by the instantiation", Version::of(12, 0), Feature::graph_instantiate_params,
     [](Things &on) { return answer(on.graph.instantiate({.upload = &on.stream})); }},
    {"host NUMA memory", Version::of(12, 2), Feature::host_numa_memory,
     [](Things &on) {
         PhysicalMemoryOptions options;
         options.host_numa_node = 0;
         return answer(PhysicalMemory::create(on.device, two_mebibytes, options));
     }},
    {"access by a host NUMA node", Version::of(12, 2), Feature::host_numa_memory, let_host_node_in},
    {"access by a host NUMA node to a pool", Version::of(12, 2), Feature::host_numa_memory,
     [](Things &on) {
         return on.pool.set_access(AccessGrant::host_numa(0, AccessFlags::read_write));
     }},
    {"access by a host NUMA node to a growable buffer", Version::of(12, 2),
     Feature::host_numa_memory, grow_with_host_node},
    {"physical memory exportable to a fabric", Version::of(12, 3), Feature::fabric_handles,
     [](Things &on) {
         return answer(
             PhysicalMemory::create(on.device, two_mebibytes, {.exportable = {.fabric = true}}));
     }},
    {"physical memory imported from a fabric", Version::of(12, 3), Feature::fabric_handles,
     [](Things &) { return answer(PhysicalMemory::import_fabric({}, two_mebibytes)); }},
    {"a pool exportable to a fabric", Version::of(12, 3), Feature::fabric_handles,
     [](Things &on) {
         return answer(MemoryPool::create(on.device, {.exportable = {.fabric = true}}));
     }},
    {"a pool exported to a fabric", Version::of(12, 3), Feature::fabric_handles,
     [](Things &on) { return answer(on.pool.export_fabric()); }},
    {"a pool imported from a fabric", Version::of(12, 3), Feature::fabric_handles,
     [](Things &) { return answer(MemoryPool::import_fabric({})); }},
    {"names of kernels", Version::of(12, 3), Feature::function_names,
     [](Things &on) { return answer(on.kernel.name()); }},
    {"conditions", Version::of(12, 3), Feature::graph_conditional_nodes,
     [](Things &on) { return answer(on.graph.create_condition({})); }},
    {"captures into a graph", Version::of(12, 3), Feature::capture_to_graph, capture_to},
    {"kernel parameters", Version::of(12, 4), Feature::kernel_parameter_info,
     [](Things &on) { return answer(on.kernel.parameter_count()); }},
    {"kernels of a library", Version::of(12, 4), Feature::kernel_enumeration,
     [](Things &) { return count_kernels(); }},
#ifndef _WIN32
    {"a dma-buf as external memory", Version::of(13, 0), Feature::external_dma_buf,
     [](Things &on) {
         auto source = ExternalMemorySource::dma_buf(null_device());
         return answer(ExternalMemory::import_from(on.context, std::move(source), 4096));
     }},
#endif
};

void check_older(const Row &row, const Result<void> &result) {
    REQUIRE_FALSE(result.has_value());
    INFO(result.error().message());
    CHECK(result.error().kind() == ErrorKind::requires_newer_driver);
    CHECK(result.error().required() == row.needed);
    CHECK(result.error().installed() == driver_version());
}

// Some structs appear in the headers later than the feature in the driver.
void check_lacking(const Row &row, const Error &error) {
    INFO(error.message());
    CHECK(error.installed() == headers_version());
    CHECK(error.required() > headers_version());
    CHECK(error.required() >= row.needed);
}

void check_newer(const Result<void> &result) {
    if (!result) {
        INFO(result.error().message());
        CHECK(result.error().kind() != ErrorKind::requires_newer_driver);
    }
}

} // namespace

TEST_CASE("a feature requires the CUDA version whose headers introduced it", "[driver_versions]") {
    for (const Row &row : rows) {
        INFO(row.what);
        CHECK(required_version(row.feature) == row.needed);
    }
}

TEST_CASE("a call reports the version it requires if the driver is too old", "[driver_versions]") {
    for (const Row &row : rows) {
        DYNAMIC_SECTION(row.what) {
            restart("");
            const bool is_older = driver_version() < row.needed;
            if (!is_older && simulator() == nullptr) {
                SKIP("needs a driver older than the version that the tested call requires");
            }
            Things things = make_things();
            const Result<void> result = row.call(things);
            if (!result && result.error().kind() == ErrorKind::requires_newer_headers) {
                check_lacking(row, result.error());
                SKIP("these headers lack it");
            }
            if (is_older) {
                check_older(row, result);
            } else {
                check_newer(result);
            }
            (void)things.stream.synchronize();
        }
    }
}

// The limit is a field of a struct, not a Feature.
TEST_CASE("a pool with a size limit requires CUDA 12.2", "[driver_versions]") {
    restart("");
    MemoryPoolOptions options;
    options.max_size = 16 * two_mebibytes;
    const auto pool = MemoryPool::create(Device::from_native(0), options);
    if (headers_version() < Version::of(12, 2)) {
        REQUIRE_FALSE(pool.has_value());
        CHECK(pool.error().kind() == ErrorKind::requires_newer_headers);
        CHECK(pool.error().required() == Version::of(12, 2));
        return;
    }
    if (driver_version() >= Version::of(12, 2)) {
        CHECK((pool || pool.error().kind() != ErrorKind::requires_newer_driver));
        return;
    }
    REQUIRE_FALSE(pool.has_value());
    CHECK(pool.error().kind() == ErrorKind::requires_newer_driver);
    CHECK(pool.error().required() == Version::of(12, 2));
}

#if CUDA_VERSION >= 12000
TEST_CASE("a driver that has a function is not called too old for it", "[driver_versions]") {
    restart("");
    if (driver_version() < introduced_in<entry::cuStreamGetId>()) {
        SKIP("needs a driver that has the function");
    }
    const Stream stream = Stream::create(Trial::context().value()).value();
    const ScopedOverride<entry::cuStreamGetId> refusing(
        [](CUstream, unsigned long long *) { return static_cast<CUresult>(36); });
    const auto id = stream.id();
    REQUIRE_FALSE(id.has_value());
    CHECK(id.error().status() == 36);
    CHECK_FALSE(id.error().required());
}

TEST_CASE("a driver that has a feature is not called too old for the runtime's function",
          "[driver_versions]") {
    restart("");
    if (driver_version() < Version::of(CUDART_VERSION / 1000, 0)) {
        SKIP("needs a driver of the runtime's major version");
    }
    Graph graph = rt::create_graph(Trial::context().value()).value();
    const GraphNode node = graph.add_empty_node({}).value();
    GraphExec exec = graph.instantiate().value();
    const ScopedOverride<entry::cudaGraphNodeSetEnabled> refusing(
        [](cudaGraphExec_t, cudaGraphNode_t, unsigned int) {
            return static_cast<cudaError_t>(36);
        });
    const auto disabled = exec.set_enabled(node, false);
    REQUIRE_FALSE(disabled.has_value());
    CHECK(disabled.error().status() == 36);
    CHECK_FALSE(disabled.error().required());
}
#endif
