// The versions of features agree with NVIDIA's headers.
#include <cushim/feature.hpp>
#include <cushim/loader.h>

#include "check.hpp"

#include <cctype>
#include <string_view>
#include <vector>

using cushim::Feature;
using cushim::Version;

namespace {

Feature feature_at(int index) {
    return static_cast<Feature>(index);
}

// Entry points that were added with each feature. Features that are only enumerators have none.
struct Representative {
    Feature feature;
    std::vector<const char *> entry_points;
};

const Representative representatives[] = {
    {Feature::primary_contexts, {"cuDevicePrimaryCtxRetain"}},
    {Feature::host_functions, {"cuLaunchHostFunc"}},
    {Feature::stream_memory_operations, {"cuStreamWriteValue32", "cuStreamBatchMemOp"}},
    {Feature::stream_memory_operations_2, {"cuStreamWriteValue32_v2", "cuStreamBatchMemOp_v2"}},
    {Feature::object_ids, {"cuCtxGetId", "cuStreamGetId"}},
    {Feature::context_flags, {"cuCtxSetFlags"}},
    {Feature::green_contexts, {"cuGreenCtxCreate"}},
    {Feature::green_context_streams, {"cuGreenCtxStreamCreate", "cuStreamGetCtx_v2"}},
    {Feature::context_events, {"cuCtxRecordEvent", "cuCtxWaitEvent"}},
    {Feature::stream_device, {"cuStreamGetDevice"}},
    {Feature::context_operations, {"cuCtxSynchronize_v2", "cuCtxGetDevice_v2"}},
    {Feature::interprocess_memory, {"cuIpcGetMemHandle", "cuIpcGetEventHandle"}},
    {Feature::managed_memory, {"cuMemAllocManaged"}},
    {Feature::memory_advice, {"cuMemAdvise", "cuMemPrefetchAsync"}},
    {Feature::memory_advice_locations, {"cuMemAdvise_v2", "cuMemPrefetchAsync_v2"}},
    {Feature::virtual_memory, {"cuMemCreate", "cuMemMap"}},
    {Feature::virtual_memory_retain, {"cuMemRetainAllocationHandle"}},
    {Feature::sparse_arrays, {"cuMemMapArrayAsync"}},
    {Feature::memory_pools, {"cuMemPoolCreate", "cuMemAllocAsync"}},
    {Feature::memory_pools_by_location, {"cuMemGetMemPool", "cuMemGetDefaultMemPool"}},
    {Feature::address_range_handles, {"cuMemGetHandleForAddressRange"}},
    {Feature::multicast, {"cuMulticastCreate"}},
    {Feature::batch_copies, {"cuMemcpyBatchAsync"}},
    {Feature::batch_prefetch, {"cuMemPrefetchBatchAsync", "cuMemDiscardBatchAsync"}},
    {Feature::external_memory, {"cuImportExternalMemory"}},
    {Feature::external_semaphores, {"cuImportExternalSemaphore"}},
    {Feature::launch_attributes, {"cuLaunchKernelEx"}},
    {Feature::cluster_occupancy, {"cuOccupancyMaxActiveClusters"}},
    {Feature::loading_mode, {"cuModuleGetLoadingMode"}},
    {Feature::library_loading, {"cuLibraryLoadData"}},
    {Feature::tensor_maps, {"cuTensorMapEncodeTiled"}},
    {Feature::function_names, {"cuKernelGetName", "cuFuncGetName"}},
    {Feature::kernel_parameter_info, {"cuKernelGetParamInfo", "cuFuncGetParamInfo"}},
    {Feature::kernel_enumeration, {"cuLibraryEnumerateKernels"}},
    {Feature::kernel_libraries, {"cuKernelGetLibrary"}},
    {Feature::graphs, {"cuGraphCreate", "cuGraphLaunch"}},
    {Feature::stream_capture, {"cuStreamBeginCapture"}},
    {Feature::stream_capture_modes,
     {"cuStreamBeginCapture_v2", "cuThreadExchangeStreamCaptureMode"}},
    {Feature::graph_update, {"cuGraphExecUpdate"}},
    {Feature::graph_update_2, {"cuGraphExecUpdate_v2"}},
    {Feature::graph_event_nodes, {"cuGraphAddEventRecordNode", "cuGraphAddEventWaitNode"}},
    {Feature::graph_upload, {"cuGraphUpload"}},
    {Feature::graph_external_semaphore_nodes,
     {"cuGraphAddExternalSemaphoresSignalNode", "cuGraphAddExternalSemaphoresWaitNode"}},
    {Feature::graph_user_objects, {"cuUserObjectCreate"}},
    {Feature::graph_debug_dot, {"cuGraphDebugDotPrint"}},
    {Feature::graph_memory_nodes, {"cuGraphAddMemAllocNode", "cuGraphAddMemFreeNode"}},
    {Feature::graph_instantiate_flags, {"cuGraphInstantiateWithFlags"}},
    {Feature::graph_node_enable, {"cuGraphNodeSetEnabled"}},
    {Feature::graph_memory_operation_nodes, {"cuGraphAddBatchMemOpNode"}},
    {Feature::graph_instantiate_params, {"cuGraphInstantiateWithParams"}},
    {Feature::graph_library_kernels, {"cuGraphAddKernelNode_v2"}},
    {Feature::graph_exec_flags, {"cuGraphExecGetFlags"}},
    {Feature::graph_generic_nodes,
     {"cuGraphAddNode", "cuGraphNodeSetParams", "cuGraphExecNodeSetParams"}},
    {Feature::graph_edge_data, {"cuGraphAddNode_v2", "cuGraphAddDependencies_v2"}},
    {Feature::graph_conditional_nodes, {"cuGraphConditionalHandleCreate"}},
    {Feature::capture_to_graph, {"cuStreamBeginCaptureToGraph"}},
    {Feature::entry_point_lookup, {"cuGetProcAddress"}},
    {Feature::core_dumps, {"cuCoredumpGetAttribute"}},
    {Feature::checkpoints, {"cuCheckpointProcessLock"}},
    {Feature::error_logs, {"cuLogsRegisterCallback"}},
};

constexpr Feature enumerators_only[] = {
    Feature::fabric_handles,      Feature::external_direct3d11,
    Feature::external_nvsci,      Feature::external_timeline_semaphores,
    Feature::external_dma_buf,    Feature::graph_conditional_switch,
    Feature::host_numa_memory,    Feature::graph_node_priorities,
    Feature::graph_device_launch, Feature::graph_node_launch_attributes,
};

bool is_represented(Feature feature) {
    for (const Representative &one : representatives) {
        if (one.feature == feature) {
            return true;
        }
    }
    for (const Feature one : enumerators_only) {
        if (one == feature) {
            return true;
        }
    }
    return false;
}

bool is_snake_case(std::string_view text) {
    for (const char character : text) {
        if (!std::islower(static_cast<unsigned char>(character)) &&
            !std::isdigit(static_cast<unsigned char>(character)) && character != '_') {
            return false;
        }
    }
    return !text.empty() && text != "unknown";
}

} // namespace

TEST_CASE("every feature has a unique name and a version") {
    for (int i = 0; i != cushim::feature_count; ++i) {
        INFO(cushim::name(feature_at(i)));
        CHECK(is_snake_case(cushim::name(feature_at(i))));
        CHECK(required_version(feature_at(i)) >= Version::of(4, 0));
        for (int j = 0; j != i; ++j) {
            CHECK(std::string_view(name(feature_at(i))) != name(feature_at(j)));
        }
    }
    CHECK(std::string_view(name(Feature::graph_conditional_nodes)) == "graph_conditional_nodes");
}

TEST_CASE("a value that is not a feature is not supported") {
    const Feature none = feature_at(cushim::feature_count);

    CHECK(required_version(none) == Version());
    CHECK_FALSE(supports(Version(99000), none));
    CHECK(std::string_view(name(none)) == "unknown");
    CHECK_FALSE(supports(Version(99000), feature_at(255)));
}

TEST_CASE("a feature is supported in its version and in newer ones") {
    for (int i = 0; i != cushim::feature_count; ++i) {
        const Feature feature = feature_at(i);
        const Version required = required_version(feature);
        INFO(cushim::name(feature));

        CHECK(supports(required, feature));
        CHECK(supports(Version(required.packed() + 10), feature));
        CHECK_FALSE(supports(Version(required.packed() - 1), feature));
        CHECK_FALSE(supports(Version(), feature));
    }
}

TEST_CASE("seven features that other libraries list with wrong versions are right") {
    CHECK(required_version(Feature::green_contexts) == Version::of(12, 4));
    CHECK(required_version(Feature::multicast) == Version::of(12, 1));
    CHECK(required_version(Feature::launch_attributes) == Version::of(11, 6));
    CHECK(required_version(Feature::tensor_maps) == Version::of(12, 0));
    CHECK(required_version(Feature::error_logs) == Version::of(12, 9));
    CHECK(required_version(Feature::graph_conditional_nodes) == Version::of(12, 3));
    CHECK(required_version(Feature::graph_conditional_switch) == Version::of(12, 8));
}

TEST_CASE("every feature is compared with the headers or known to have no entry point") {
    for (int i = 0; i != cushim::feature_count; ++i) {
        INFO(cushim::name(feature_at(i)));
        CHECK(is_represented(feature_at(i)));
    }
}

TEST_CASE("the headers first declare a feature's entry points in its version") {
    const Version headers(cushim_headers_version());
    REQUIRE(headers >= Version::of(11, 4));
    for (const Representative &one : representatives) {
        for (const char *const name : one.entry_points) {
            INFO(cushim::name(one.feature) << ": " << name);
            cushim_entry_point found{};
            const bool has = cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, name, &found) != 0;
            CHECK(has == (required_version(one.feature) <= headers));
            // The entry point's own version agrees.
            CHECK((!has || found.introduced == required_version(one.feature).packed()));
        }
    }
}
