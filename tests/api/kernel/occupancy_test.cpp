#include "harness/device_code.hpp"
#include "harness/scenario.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

using namespace api_test;
using namespace cushim;
using Catch::Matchers::ContainsSubstring;

namespace {

std::size_t CUDA_CB four_bytes_each(int block_size) {
    return static_cast<std::size_t>(block_size) * 4;
}

Result<void> check_occupancy(const Context &context, const AnyKernel &kernel) {
    CUSHIM_TRY(const int small, max_active_blocks(context, kernel, 32));
    CUSHIM_TRY(const int large, max_active_blocks(context, kernel, 1024));
    CHECK(large >= 1);
    CHECK(small > large);
    CHECK_GIVES(max_active_blocks(context, kernel, 32, std::size_t(1) << 30), 0);
    CUSHIM_TRY(const BlockSuggestion best, suggest_block(context, kernel));
    CHECK(best.block_size >= 32);
    CHECK(best.min_grid_size >= 1);
    CUSHIM_TRY(const BlockSuggestion limited, suggest_block(context, kernel, 0, 64));
    CHECK(limited.block_size == 64);
    CUSHIM_TRY(const BlockSuggestion shared,
               suggest_block_by(context, kernel, four_bytes_each, 128));
    CHECK(shared.block_size == 128);
    CUSHIM_TRY(const std::size_t bytes, available_shared_bytes(context, kernel, large, 1024));
    CHECK(bytes > 0);
    return {};
}

} // namespace

CONTEXT_SCENARIO_TEST("a module's kernel has an occupancy", "[occupancy]") {
    CUSHIM_TRY(const Module module, load_device_code(context));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("add"));
    return check_occupancy(context, kernel);
}

CONTEXT_SCENARIO_TEST("a library's kernel has an occupancy", "[occupancy]") {
    trial.needs_cuda(12, 0);
    CUSHIM_TRY(const Library library, Library::load(device_code));
    CUSHIM_TRY(const AnyKernel kernel, library.kernel("add"));
    return check_occupancy(context, kernel);
}

CONTEXT_SCENARIO_TEST("clusters are counted", "[occupancy]") {
    trial.needs_driver(11, 7);
    CUSHIM_TRY(const Device device, context.device());
    CUSHIM_TRY(const ComputeCapability capability, device.compute_capability());
    if (capability < ComputeCapability{9, 0}) {
        trial.skip("the device has no clusters");
        return {};
    }
    // What older drivers say, they say of any kernel.
    const bool knows = driver_version() >= Version::of(11, 8);
    CUSHIM_TRY(const Module module, Module::load(context, knows ? cluster_code : device_code));
    CUSHIM_TRY(const AnyKernel kernel, module.kernel("idle"));
    const LaunchConfig config{.grid = 4, .block = 64};
    CUSHIM_TRY(const int largest, max_cluster_size(context, kernel, config));
    CHECK(largest >= 2);
    LaunchConfig in_clusters = config;
    in_clusters.cluster = 2;
    CUSHIM_TRY(const int clusters, max_active_clusters(context, kernel, in_clusters));
    CHECK(clusters >= 1);
    return {};
}

TEST_CASE("what makes no sense for an occupancy is refused", "[occupancy]") {
    const auto context = context_after_restart("");
    const auto module = required(load_device_code(context));
    const auto kernel = module.kernel("idle");
    REQUIRE(kernel.has_value());
    CHECK_THAT(max_active_blocks(context, *kernel, 0).error().message(),
               ContainsSubstring("block size 0 is not positive"));
    CHECK_THAT(suggest_block(context, *kernel, 0, -1).error().message(), ContainsSubstring("-1"));
    CHECK(refused(suggest_block_by(context, *kernel, nullptr)));
    CHECK_THAT(available_shared_bytes(context, *kernel, 0, 32).error().message(),
               ContainsSubstring("number of blocks 0"));
    CHECK(refused(available_shared_bytes(context, *kernel, 1, -1)));
    CHECK(refused(max_active_blocks(context, AnyKernel(), 32)));
    CHECK(refused(max_active_blocks(Context(), *kernel, 32)));
    const auto other = required(Context::create(Device::from_native(0)));
    CHECK(refused(max_active_blocks(other, *kernel, 32), ErrorKind::wrong_context));
}
