// Images in external memory.
#include "harness/external.hpp"

#ifndef _WIN32
#include "harness/exported_memory.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <algorithm>
#include <utility>

using namespace api_test;
using namespace cushim;

namespace {

constexpr std::size_t page = 4096;

} // namespace

CONTEXT_SCENARIO_TEST("an image is mapped, and its levels are there", "[X12]") {
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = 64;
    description.Height = 32;
    description.Format = CU_AD_FORMAT_FLOAT;
    description.NumChannels = 4;
    ExternalMipmappedArray image;
    {
        CUSHIM_TRY(const auto memory,
                   ExternalMemory::import_from(context, exported.source(), size));
        auto mapped = memory.map_mipmapped(page, description, 3);
        if (!mapped && simulator() == nullptr) {
            trial.skip(mapped.error().message());
        }
        CUSHIM_TRY(image, std::move(mapped));
    }
    CHECK(image.levels() == 3);
    CUSHIM_TRY(const CUarray largest, image.level(0));
    CUSHIM_TRY(const CUarray smallest, image.level(2));
    CHECK(largest != nullptr);
    CHECK(smallest != largest);
    CHECK(error_of(image.level(3)).kind() == ErrorKind::invalid_argument);
    return {};
}

TEST_CASE("an image is described to the driver as it was to cushim", "[X12]") {
    need_simulator("needs the simulator, which accepts descriptions of images that do not exist");
    const Context context = context_after_restart("");
    auto exported = export_memory(1).value();
    const auto memory = import_whole(context, exported).value();
    static CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC passed;
    const SpiedCall<entry::cuExternalMemoryGetMappedMipmappedArray> spied(
        [](CUmipmappedArray *, CUexternalMemory,
           const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *image) { passed = *image; });
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = 64;
    description.Height = 16;
    description.Format = CU_AD_FORMAT_FLOAT;
    description.NumChannels = 2;
    CHECK(memory.map_mipmapped(2 * page, description, 3));
    CHECK(passed.offset == 2 * page);
    CHECK(passed.arrayDesc.Width == 64);
    CHECK(passed.arrayDesc.Height == 16);
    CHECK(passed.arrayDesc.NumChannels == 2);
    CHECK(passed.numLevels == 3);
}

TEST_CASE("an image waits for its stream before it is destroyed", "[X12]") {
    need_simulator("needs the simulator, which records the calls");
    const Context context = context_after_restart("");
    auto exported = export_memory(1).value();
    const auto memory = import_whole(context, exported).value();
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = 16;
    description.Format = CU_AD_FORMAT_FLOAT;
    description.NumChannels = 1;
    auto image = memory.map_mipmapped(0, description).value();
    CHECK(image.release_after(Stream::create(context).value()).has_value());
    check_refused(image.release_after(Stream::legacy()), ErrorKind::invalid_argument,
                  "default stream");
    const auto calls = calls_in([&] { CHECK(image.close().has_value()); });
    const auto waited = std::find(calls.begin(), calls.end(), "cuStreamSynchronize");
    REQUIRE(waited != calls.end());
    CHECK(std::find(waited, calls.end(), "cuMipmappedArrayDestroy") != calls.end());
}

TEST_CASE("an image must have a size, and begin in its import", "[X12]") {
    const Context context = context_after_restart("");
    auto exported = export_memory(1).value();
    const auto memory = import_whole(context, exported).value();
    check_refused(ExternalMemory().map_mipmapped(0, {}), ErrorKind::invalid_argument, "empty");
    check_refused(memory.map_mipmapped(exported.size(), {}), ErrorKind::invalid_argument,
                  std::to_string(exported.size()));
    check_refused(memory.map_mipmapped(0, {}), ErrorKind::invalid_argument, "width 0");
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = 16;
    check_refused(memory.map_mipmapped(0, description, 0), ErrorKind::invalid_argument,
                  "number of levels 0");
    check_refused(ExternalMipmappedArray().level(0), ErrorKind::invalid_argument, "empty");
}

#else

TEST_CASE("images on Windows") {
    SKIP("exported memory is made with file descriptors");
}

#endif
