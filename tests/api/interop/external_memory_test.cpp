// Memory of other APIs: imports, and buffers in them. Tags such as [X1] name rows of the checklist.
#include "harness/external.hpp"
#include "harness/memory.hpp"
#include "harness/spied_call.hpp"

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#ifdef _WIN32
#include <windows.h>
#else
#include "harness/exported_memory.hpp"
#endif

using namespace api_test;
using namespace cushim;

#ifdef _WIN32

SCENARIO_TEST("importing memory by a Windows handle leaves the handle open", "[X1][X2][X3][X13]",
              (Trial &trial, const Context &context)) {
    constexpr std::size_t size = 4096;
    if (simulator() == nullptr) {
        trial.skip("needs memory of another API");
    }
    const std::intptr_t number = simulator()->make_memory_fd(size);
    const std::unique_ptr<void, decltype(&CloseHandle)> handle(reinterpret_cast<HANDLE>(number),
                                                               CloseHandle);
    auto imported = ExternalMemory::import_from(
        context, ExternalMemorySource::opaque_win32(Win32Handle::handle(handle.get())), size);
    DWORD flags = 0;
    CHECK(GetHandleInformation(handle.get(), &flags) != 0);
    CUSHIM_TRY(const auto memory, std::move(imported));
    CUSHIM_TRY(const auto buffer, memory.map_buffer(0, size));
    CUSHIM_TRY(const auto words, buffer.as<unsigned int>());
    CUSHIM_TRY_VOID(fill(context, words, 77u));
    std::vector<unsigned int> values(words.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), words));
    CHECK(values == std::vector<unsigned int>(words.size(), 77u));
    return {};
}

#else

// --- imports

namespace {

constexpr std::size_t page = 4096;

} // namespace

SCENARIO_TEST("exported memory is the same memory after its import", "[X1][X2][X3][X13]",
              (const Context &context)) {
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    CUSHIM_TRY(const auto own, map_own(exported.memory));
    CUSHIM_TRY_VOID(fill(context, own.span<unsigned char>(), 0x5a));

    CUSHIM_TRY(const auto memory, ExternalMemory::import_from(context, exported.source(), size));
    CHECK(memory.native() != nullptr);
    CHECK(memory.size() == size);
    CUSHIM_TRY(const auto buffer, memory.map_buffer(0, size));
    CHECK(buffer.size() == size);
    CUSHIM_TRY(const auto theirs, buffer.as<unsigned char>());
    CUSHIM_TRY(auto bytes, read(context, theirs));
    CHECK(bytes == std::vector<unsigned char>(size, 0x5a));

    CUSHIM_TRY(const auto part, theirs.subspan(100, 50));
    CUSHIM_TRY_VOID(fill(context, part, 0x11));
    CUSHIM_TRY(bytes, read(context, own.span<unsigned char>()));
    CHECK(bytes[99] == 0x5a);
    CHECK(bytes[100] == 0x11);
    CHECK(bytes[149] == 0x11);
    CHECK(bytes[150] == 0x5a);
    return {};
}

SCENARIO_TEST("a buffer keeps its import and its context alive", "[X1][X3]",
              (Trial &trial, const Context &context)) {
    ExternalBuffer buffer;
    {
        CUSHIM_TRY(auto exported, export_memory(1));
        CUSHIM_TRY(const Context made, trial.context());
        const std::size_t size = exported.size();
        CUSHIM_TRY(auto memory, ExternalMemory::import_from(made, exported.source(), size));
        const ExternalMemory second = memory.share();
        CHECK(second.native() == memory.native());
        memory.reset();
        CHECK_FALSE(memory);
        CHECK(memory.size() == 0);
        CUSHIM_TRY(buffer, second.map_buffer(page, 2 * page));
    }
    CUSHIM_TRY(const auto words, buffer.as<unsigned int>());
    CHECK(words.size() == 2 * page / sizeof(unsigned int));
    CUSHIM_TRY_VOID(fill(context, words, 77u));
    std::vector<unsigned int> values(words.size());
    CUSHIM_TRY_VOID(copy(context, std::span(values), words));
    CHECK(values == std::vector<unsigned int>(words.size(), 77u));
    return {};
}

SCENARIO_TEST("buffers of one import may overlap", "[X3]", (const Context &context)) {
    CUSHIM_TRY(auto exported, export_memory(1));
    CUSHIM_TRY(const auto memory, import_whole(context, exported));
    CUSHIM_TRY(const auto whole, memory.map_buffer(0, exported.size()));
    CUSHIM_TRY(auto end, memory.map_buffer(exported.size() - page, page));
    CUSHIM_TRY(const auto end_bytes, end.as<unsigned char>());
    CUSHIM_TRY_VOID(fill(context, end_bytes, 9));
    CUSHIM_TRY_VOID(end.close());
    CHECK_FALSE(end);
    CHECK(end.native() == 0);
    CUSHIM_TRY(const auto whole_bytes, whole.as<unsigned char>());
    CUSHIM_TRY(const auto bytes, read(context, whole_bytes));
    CHECK(bytes[exported.size() - 1] == 9);
    CHECK(bytes[exported.size() - page] == 9);
    return {};
}

// Without release_after() the simulator would report memory that is freed while work uses it.
SCENARIO_TEST("a buffer waits for the work that uses it", "[external_memory]",
              (const Context &context, const StreamAside &aside)) {
    const Stream &stream = aside.stream;
    CUSHIM_TRY(auto exported, export_memory(1));
    CUSHIM_TRY(const auto memory, import_whole(context, exported));
    CUSHIM_TRY(auto buffer, memory.map_buffer(0, page));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY(const auto bytes, buffer.as<unsigned char>());
    CUSHIM_TRY_VOID(fill(stream, bytes, 1));
    CUSHIM_TRY_VOID(buffer.close());
    CUSHIM_TRY_VOID(check_gives(stream.query(), true));
    CHECK(error_of(buffer.release_after(Stream::legacy())).kind() == ErrorKind::invalid_argument);
    return {};
}

SCENARIO_TEST("imports are released, adopted and borrowed", "[X4]", (const Context &context)) {
    CUSHIM_TRY(auto exported, export_memory(1));
    CUSHIM_TRY(auto memory, import_whole(context, exported));
    const CUexternalMemory native = memory.release();
    CHECK(native != nullptr);
    CHECK_FALSE(memory);
    auto adopted = ok(ExternalMemory::adopt(context, native, exported.size()));
    const auto borrowed = ExternalMemory::borrow(context, native, exported.size());
    CHECK(borrowed.native() == native);
    {
        CUSHIM_TRY(const auto buffer, borrowed.map_buffer(0, page));
        CHECK(buffer.size() == page);
    }
    return adopted.close();
}

TEST_CASE("an import of 0 bytes is rejected and leaves the descriptor open", "[X2]") {
    const Context context = context_after_restart("");
    auto exported = ok(export_memory(1));
    auto source = exported.source();
    const int number = source.fd().get();
    check_refused(ExternalMemory::import_from(context, std::move(source), 0), "the size is 0");
    CHECK(source.fd().get() == number);
    check_refused(ExternalMemory::adopt(context, reinterpret_cast<CUexternalMemory>(&exported), 0),
                  "the size is 0");
}

TEST_CASE("a buffer beyond its import is rejected", "[X3]") {
    const Imported at;
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    const std::pair<std::size_t, std::size_t> ranges[] = {{0, at.exported.size() + 1},
                                                          {at.exported.size(), 1},
                                                          {1, at.exported.size()},
                                                          {most, 2},
                                                          {2, most},
                                                          {most, most},
                                                          {at.exported.size() + 1, 0}};
    for (const auto &[offset, length] : ranges) {
        check_refused(at.memory.map_buffer(offset, length), std::to_string(at.exported.size()));
    }
    // 0 bytes, without a driver call.
    const auto empty = ok(at.memory.map_buffer(at.exported.size(), 0));
    CHECK(empty.empty());
    CHECK(empty.native() == 0);
    CHECK(ok(empty.as<float>()).empty());

    check_refused(ExternalMemory().map_buffer(0, 1), "the ExternalMemory is empty");
}

TEST_CASE("a buffer rejects partial and misaligned elements", "[external_memory]") {
    const Imported at;
    {
        const auto buffer = ok(at.memory.map_buffer(page, 12));
        CHECK(buffer.span().size() == 12);
        CHECK(ok(buffer.as<float>()).size() == 3);
    }
    const ScopedOverride<entry::cuExternalMemoryGetMappedBuffer> at_an_odd_address(
        [](CUdeviceptr *address, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *) {
            *address = 0x1001;
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuMemFree> free([](CUdeviceptr) { return CUDA_SUCCESS; });
    const auto odd = ok(at.memory.map_buffer(1, 8));
    CHECK(ok(odd.as<char>()).size() == 8);
    check_refused(odd.as<float>(), "element alignment of 4");
}

// --- order and failures of destruction

TEST_CASE("a buffer is freed before its import, and the import before its context", "[X3][X5]") {
    STATIC_REQUIRE(std::is_nothrow_destructible_v<ExternalMemory>);
    STATIC_REQUIRE(std::is_nothrow_destructible_v<ExternalBuffer>);
    need_simulator("needs the simulator, which records the calls");
    restart("");
    {
        auto exported = ok(export_memory(1));
        const std::size_t size = exported.size();
        ExternalBuffer buffer;
        ExternalMipmappedArray image;
        {
            const Context context = primary();
            const auto memory = ok(ExternalMemory::import_from(context, exported.source(), size));
            buffer = ok(memory.map_buffer(0, page));
            image = ok(memory.map_mipmapped(page, image_of(CU_AD_FORMAT_UNSIGNED_INT8, 16)));
        }
        CHECK(destroying_calls_in([&] {
                  image.reset();
                  buffer.reset();
              }) == std::vector<std::string>{"cuMipmappedArrayDestroy", "cuMemFree_v2",
                                             "cuDestroyExternalMemory",
                                             "cuDevicePrimaryCtxRelease_v2"});
    }
    CHECK(leaks().empty());
}

// After the reset the address may belong to other memory.
TEST_CASE("a buffer in a borrowed import makes no call after a reset", "[external_memory]") {
    const Context context = context_after_restart("");
    auto exported = ok(export_memory(1));
    auto owned = ok(import_whole(context, exported));
    const auto borrowed = ExternalMemory::borrow(context, owned.native(), exported.size());
    auto buffer = ok(borrowed.map_buffer(0, exported.size()));
    REQUIRE(Context::reset_primary(ok(context.device())).has_value());
    check_no_calls([&] {
        CHECK(buffer.close().has_value());
        CHECK(owned.close().has_value());
    });
}

TEST_CASE("closing an import returns the failure", "[external_memory]") {
    const Context context = context_after_restart("");
    auto exported = ok(export_memory(1));
    auto memory = ok(import_whole(context, exported));
    const CUexternalMemory native = memory.native();
    {
        const ScopedOverride<entry::cuDestroyExternalMemory> fails(
            [](CUexternalMemory) { return CUDA_ERROR_INVALID_HANDLE; });
        CHECK(error_of(memory.close()).status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK_FALSE(memory);
    }
    CHECK(driver().cuDestroyExternalMemory(native) == CUDA_SUCCESS);
}

TEST_CASE("a kind that the driver lacks fails with requires_newer_driver or its status", "[X12]") {
    restart("");
    need_simulator("needs the simulator, which checks invalid handles");
    const Context context = primary();
    auto dma_buf = ExternalMemorySource::dma_buf(null_device());
    const Error no_dma_buf =
        error_of(ExternalMemory::import_from(context, std::move(dma_buf), page));
    CHECK(dma_buf.fd());
    if (driver_version() < Version::of(13, 0)) {
        CHECK(no_dma_buf.kind() == ErrorKind::requires_newer_driver);
        CHECK(no_dma_buf.required() == Version::of(13, 0));
        CHECK(no_dma_buf.installed() == driver_version());
    } else {
        CHECK(no_dma_buf.kind() == ErrorKind::not_supported_by_device);
    }
    int object = 0;
    const Error no_nvsci = error_of(
        ExternalMemory::import_from(context, ExternalMemorySource::nvscibuf(&object), page));
    CHECK(no_nvsci.kind() == ErrorKind::not_supported_by_device);
}

// --- images

SCENARIO_TEST("a mapped image has its levels", "[X12]", (Trial &trial, const Context &context)) {
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    const auto description = image_of(CU_AD_FORMAT_FLOAT, 64, 32, 4);
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

TEST_CASE("the driver receives the description of an image", "[X12]") {
    need_simulator("needs the simulator, which accepts descriptions of images that do not exist");
    const Imported at;
    static CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC passed;
    const SpiedCall<entry::cuExternalMemoryGetMappedMipmappedArray> spied(
        [](CUmipmappedArray *, CUexternalMemory,
           const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC *image) { passed = *image; });
    const auto description = image_of(CU_AD_FORMAT_FLOAT, 64, 16, 2);
    CHECK(at.memory.map_mipmapped(2 * page, description, 3));
    CHECK(passed.offset == 2 * page);
    CHECK(passed.arrayDesc.Width == 64);
    CHECK(passed.arrayDesc.Height == 16);
    CHECK(passed.arrayDesc.NumChannels == 2);
    CHECK(passed.numLevels == 3);
}

TEST_CASE("an image waits for its stream before it is destroyed", "[X12]") {
    need_simulator("needs the simulator, which records the calls");
    const Imported at;
    auto image = ok(at.memory.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 16)));
    CHECK(image.release_after(ok(Stream::create(at.context))).has_value());
    check_refused(image.release_after(Stream::legacy()), "Stream::create()");
    const auto calls = calls_in([&] { CHECK(image.close().has_value()); });
    const auto waited = std::find(calls.begin(), calls.end(), "cuStreamSynchronize");
    REQUIRE(waited != calls.end());
    CHECK(std::find(waited, calls.end(), "cuMipmappedArrayDestroy") != calls.end());
}

TEST_CASE("an image of size 0 or beyond its import is rejected", "[X12]") {
    const Imported at;
    check_refused(ExternalMemory().map_mipmapped(0, {}), "the ExternalMemory is empty");
    check_refused(at.memory.map_mipmapped(at.exported.size(), {}),
                  std::to_string(at.exported.size()));
    check_refused(at.memory.map_mipmapped(0, {}), "the width of the array is 0");
    check_refused(ExternalMipmappedArray().level(0), "is empty");
}

#endif
