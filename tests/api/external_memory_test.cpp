// Memory of other APIs. The rows of the seed's checklist that these cases show stand in their tags.
#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

#include <cushim/cushim.hpp>

#include "../../src/api/external_descriptions.hpp"

#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#ifdef _WIN32
#include <windows.h>
#else
#include <fcntl.h>
#include <unistd.h>

#include "exported_memory.hpp"
#endif

using namespace cushim;

// --- descriptions

namespace {

// The eight bytes at a word of a description's handle.
unsigned long long word(const CUDA_EXTERNAL_MEMORY_HANDLE_DESC &description, std::size_t index) {
    unsigned long long value = 0;
    std::memcpy(&value, reinterpret_cast<const char *>(&description.handle) + 8 * index, 8);
    return value;
}

void *handle_of(unsigned long long value) {
    return reinterpret_cast<void *>(value);
}

} // namespace

TEST_CASE("a handle of Windows is described by its handle or its name", "[X11]") {
    const auto by_handle = detail::description_of(
        ExternalMemorySource::opaque_win32(Win32Handle::handle(handle_of(0xDEADBEEF12345678))),
        2048);
    CHECK(by_handle.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32);
    CHECK(word(by_handle, 0) == 0xDEADBEEF12345678);
    CHECK(word(by_handle, 1) == 0);
    CHECK(by_handle.size == 2048);
    CHECK(by_handle.flags == 0);

    const wchar_t *const name = L"Local\\memory";
    const auto by_name = detail::description_of(
        ExternalMemorySource::opaque_win32(Win32Handle::named(name), {.dedicated = true}), 2048);
    CHECK(word(by_name, 0) == 0);
    CHECK(by_name.handle.win32.name == name);
    CHECK(word(by_name, 1) == reinterpret_cast<unsigned long long>(name));
    CHECK(by_name.flags == CUDA_EXTERNAL_MEMORY_DEDICATED);
}

TEST_CASE("every kind of memory is described as CUDA wants it", "[X11][X12]") {
    const auto nt = Win32Handle::handle(handle_of(16));
    struct Expected {
        ExternalMemorySource source;
        int type;
        unsigned int flags;
    };
    const Expected all[] = {
        {ExternalMemorySource::opaque_fd({}), 1, 0},
        {ExternalMemorySource::opaque_fd({}, {.dedicated = true}), 1, 1},
        {ExternalMemorySource::opaque_win32(nt), 2, 0},
        {ExternalMemorySource::opaque_win32_kmt(handle_of(16)), 3, 0},
        {ExternalMemorySource::opaque_win32_kmt(handle_of(16), {.dedicated = true}), 3, 1},
        {ExternalMemorySource::d3d12_heap(nt), 4, 0},
        {ExternalMemorySource::d3d12_resource(nt), 5, 1},
        {ExternalMemorySource::d3d11_resource(nt), 6, 1},
        {ExternalMemorySource::d3d11_resource_kmt(handle_of(16)), 7, 1},
        {ExternalMemorySource::nvscibuf(handle_of(16)), 8, 0},
        {ExternalMemorySource::dma_buf({}), 9, 0},
    };
    for (const Expected &expected : all) {
        const auto description = detail::description_of(expected.source, 4096);
        CHECK(static_cast<int>(description.type) == expected.type);
        CHECK(description.flags == expected.flags);
        CHECK(description.size == 4096);
        const bool has_fd = expected.type == 1 || expected.type == 9;
        CHECK(word(description, 0) == (has_fd ? 0u : 16u));
        CHECK(word(description, 1) == 0);
        for (const unsigned int reserved : description.reserved) {
            CHECK(reserved == 0);
        }
    }
}

// --- refused before CUDA sees it

namespace {

Context primary() {
    return Device::get(0).and_then(&Context::primary).value();
}

template <class T>
void check_refused(const Result<T> &result, ErrorKind kind, const std::string &part) {
    REQUIRE_FALSE(result.has_value());
    CHECK(result.error().kind() == kind);
    INFO(result.error().message());
    CHECK(std::string(result.error().message()).find(part) != std::string::npos);
}

} // namespace

TEST_CASE("what needs no driver to be refused does not reach it", "[X2][X12]") {
    api_test::restart("");
    const Context context = primary();
    int calls = 0;
    static int *counted = nullptr;
    counted = &calls;
    const ScopedOverride<entry::cuImportExternalMemory> import(
        [](CUexternalMemory *, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *) {
            ++*counted;
            return CUDA_ERROR_UNKNOWN;
        });
    using Source = ExternalMemorySource;
    const auto import_of = [&](Source &&source, std::size_t size = 4096) {
        return ExternalMemory::import_from(context, std::move(source), size);
    };
    const auto nt = Win32Handle::handle(handle_of(16));
    check_refused(import_of(Source::nvscibuf(nullptr)), ErrorKind::invalid_argument, "null");
    check_refused(import_of(Source::nvscibuf(&calls), 0), ErrorKind::invalid_argument, "0 bytes");
    check_refused(ExternalMemory::import_from(Context(), Source::nvscibuf(&calls), 1),
                  ErrorKind::invalid_argument, "context");
#ifdef _WIN32
    check_refused(import_of(Source::opaque_fd(UniqueFd(0))), ErrorKind::unsupported_platform, "");
    check_refused(import_of(Source::dma_buf(UniqueFd(0))), ErrorKind::unsupported_platform, "");
    check_refused(import_of(Source::opaque_win32(Win32Handle::handle(nullptr))),
                  ErrorKind::invalid_argument, "null");
    check_refused(import_of(Source::d3d12_heap(Win32Handle::named(nullptr))),
                  ErrorKind::invalid_argument, "null");
    CHECK(calls == 0);
    CHECK_FALSE(import_of(Source::opaque_win32(nt)));
    CHECK(calls == 1);
#else
    Source of_windows[] = {
        Source::opaque_win32(nt),   Source::opaque_win32(Win32Handle::named(L"x")),
        Source::d3d12_heap(nt),     Source::opaque_win32_kmt(handle_of(16)),
        Source::d3d12_resource(nt), Source::d3d11_resource_kmt(handle_of(16)),
        Source::d3d11_resource(nt),
    };
    for (Source &source : of_windows) {
        check_refused(import_of(std::move(source)), ErrorKind::unsupported_platform, "Windows");
    }
    check_refused(import_of(Source::opaque_fd({})), ErrorKind::invalid_argument, "-1");
    const int closed = api_test::null_device().get();
    Source stale = Source::opaque_fd(UniqueFd(closed));
    check_refused(import_of(std::move(stale)), ErrorKind::invalid_argument, std::to_string(closed));
    (void)stale.take_fd().release();
    CHECK(calls == 0);
#endif
}

#ifdef _WIN32

SCENARIO_TEST("a handle of Windows is imported, and stays the caller's", "[X1][X2][X3][X13]") {
    constexpr std::size_t size = 4096;
    if (api_test::simulator() == nullptr) {
        trial.skip("memory of another API needs such an API");
    }
    CUSHIM_TRY(const Context context, trial.context());
    const std::intptr_t number = api_test::simulator()->make_memory_fd(size);
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

// --- what is imported

namespace {

constexpr std::size_t page = 4096;
using api_test::export_memory;
using sim_test::is_open;

std::size_t open_descriptors() {
    return api_test::simulator() != nullptr ? sim_test::open_descriptors() : 0;
}

// Physical memory at an address, so that this side sees it, too.
Result<MappedRange> map_own(const PhysicalMemory &memory) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const auto range, AddressRange::reserve(device, memory.size()));
    return MappedRange::map(range, 0, memory, AccessGrant(device, AccessFlags::read_write));
}

Result<std::vector<unsigned char>> read_all(const Context &context,
                                            DeviceSpan<unsigned char> span) {
    std::vector<unsigned char> bytes(span.size());
    CUSHIM_TRY_VOID(copy(context, std::span(bytes), span));
    return bytes;
}

} // namespace

SCENARIO_TEST("exported memory imports as external memory, and is the same", "[X1][X2][X3][X13]") {
    CUSHIM_TRY(const Context context, trial.context());
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
    CUSHIM_TRY(auto bytes, read_all(context, theirs));
    CHECK(bytes == std::vector<unsigned char>(size, 0x5a));

    CUSHIM_TRY(const auto part, theirs.subspan(100, 50));
    CUSHIM_TRY_VOID(fill(context, part, 0x11));
    CUSHIM_TRY(bytes, read_all(context, own.span<unsigned char>()));
    CHECK(bytes[99] == 0x5a);
    CHECK(bytes[100] == 0x11);
    CHECK(bytes[149] == 0x11);
    CHECK(bytes[150] == 0x5a);
    return {};
}

SCENARIO_TEST("a buffer outlives the names of what it lies in", "[X1][X3]") {
    ExternalBuffer buffer;
    CUSHIM_TRY(const Context context, trial.context());
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

SCENARIO_TEST("buffers of one import may overlap", "[X3]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    CUSHIM_TRY(const auto memory, ExternalMemory::import_from(context, exported.source(), size));
    CUSHIM_TRY(const auto whole, memory.map_buffer(0, size));
    CUSHIM_TRY(auto end, memory.map_buffer(size - page, page));
    CUSHIM_TRY(const auto end_bytes, end.as<unsigned char>());
    CUSHIM_TRY_VOID(fill(context, end_bytes, 9));
    CUSHIM_TRY_VOID(end.close());
    CHECK_FALSE(end);
    CHECK(end.native() == 0);
    CUSHIM_TRY(const auto whole_bytes, whole.as<unsigned char>());
    CUSHIM_TRY(const auto bytes, read_all(context, whole_bytes));
    CHECK(bytes[size - 1] == 9);
    CHECK(bytes[size - page] == 9);
    return {};
}

TEST_CASE("a wrong descriptor comes back from the import", "[X2]") {
    api_test::restart("");
    const Context context = primary();
    auto source = ExternalMemorySource::opaque_fd(api_test::null_device());
    const int number = source.fd().get();
    const std::size_t before = open_descriptors();
    const auto refused = ExternalMemory::import_from(context, std::move(source), page);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().status() == CUDA_ERROR_UNKNOWN);
    CHECK(source.fd().get() == number);
    CHECK(is_open(number));
    CHECK(open_descriptors() == before);
    const UniqueFd back = source.take_fd();
    CHECK(back.get() == number);
    CHECK_FALSE(source.fd());
}

SCENARIO_TEST("an import takes its descriptor, and opens no other", "[X2]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    auto source = exported.source();
    const int number = source.fd().get();
    const std::size_t before = open_descriptors();
    auto memory = ExternalMemory::import_from(context, std::move(source), size);
    CHECK(static_cast<bool>(source.fd()) != memory.has_value());
    CHECK(is_open(number) != memory.has_value());
    if (!memory) {
        CHECK(open_descriptors() == before);
    }
    CUSHIM_TRY_VOID(memory);
    CUSHIM_TRY_VOID(memory->close());
    return {};
}

SCENARIO_TEST("an image is mapped, and its levels are there", "[X12][X3]") {
    CUSHIM_TRY(const Context context, trial.context());
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
        if (!mapped && api_test::simulator() == nullptr) {
            trial.skip(mapped.error().message());
        }
        CUSHIM_TRY(image, std::move(mapped));
    }
    CHECK(image.levels() == 3);
    CUSHIM_TRY(const CUarray largest, image.level(0));
    CUSHIM_TRY(const CUarray smallest, image.level(2));
    CHECK(largest != nullptr);
    CHECK(smallest != largest);
    const auto beyond = image.level(3);
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().kind() == ErrorKind::invalid_argument);
    return {};
}

// Without release_after() the simulator would tell of memory that was freed under queued work.
SCENARIO_TEST("a buffer waits for the work that uses it", "[X3]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(const Stream stream, Stream::create(context, {.non_blocking = true}));
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    CUSHIM_TRY(const auto memory, ExternalMemory::import_from(context, exported.source(), size));
    CUSHIM_TRY(auto buffer, memory.map_buffer(0, page));
    CUSHIM_TRY_VOID(buffer.release_after(stream));
    CUSHIM_TRY(const auto bytes, buffer.as<unsigned char>());
    CUSHIM_TRY_VOID(fill(stream, bytes, 1));
    CUSHIM_TRY_VOID(buffer.close());
    CUSHIM_TRY(const bool done, stream.query());
    CHECK(done);
    const auto refused = buffer.release_after(Stream::legacy());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind() == ErrorKind::invalid_argument);
    return {};
}

SCENARIO_TEST("an import is given up, taken over and borrowed", "[X4][X5]") {
    CUSHIM_TRY(const Context context, trial.context());
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    CUSHIM_TRY(auto memory, ExternalMemory::import_from(context, exported.source(), size));
    const CUexternalMemory native = memory.release();
    CHECK(native != nullptr);
    CHECK_FALSE(memory);
    auto adopted = ExternalMemory::adopt(context, native, size);
    REQUIRE(adopted);
    const auto borrowed = ExternalMemory::borrow(context, native, size);
    CHECK(borrowed.native() == native);
    {
        CUSHIM_TRY(const auto buffer, borrowed.map_buffer(0, page));
        CHECK(buffer.size() == page);
    }
    return adopted->close();
}

TEST_CASE("a range must lie in its import", "[X3]") {
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    const auto memory = ExternalMemory::import_from(context, exported.source(), size).value();
    constexpr auto most = std::numeric_limits<std::size_t>::max();
    const std::pair<std::size_t, std::size_t> ranges[] = {
        {0, size + 1}, {size, 1}, {1, size}, {most, 2}, {2, most}, {most, most}, {size + 1, 0}};
    for (const auto &[offset, length] : ranges) {
        check_refused(memory.map_buffer(offset, length), ErrorKind::invalid_argument,
                      std::to_string(size));
    }
    // Of no bytes, and none that reaches the driver.
    const auto empty = memory.map_buffer(size, 0);
    REQUIRE(empty);
    CHECK(empty->empty());
    CHECK(empty->native() == 0);
    CHECK(empty->as<float>().value().empty());

    check_refused(ExternalMemory().map_buffer(0, 1), ErrorKind::invalid_argument, "empty");
    check_refused(ExternalMemory().map_mipmapped(0, {}), ErrorKind::invalid_argument, "empty");
    check_refused(memory.map_mipmapped(size, {}), ErrorKind::invalid_argument,
                  std::to_string(size));
    check_refused(memory.map_mipmapped(0, {}), ErrorKind::invalid_argument, "0 wide");
    CUDA_ARRAY3D_DESCRIPTOR description{};
    description.Width = 16;
    check_refused(memory.map_mipmapped(0, description, 0), ErrorKind::invalid_argument, "0 levels");
    check_refused(ExternalMipmappedArray().level(0), ErrorKind::invalid_argument, "empty");
    check_refused(ExternalMemory::adopt(context, nullptr, 1), ErrorKind::invalid_argument, "");
}

TEST_CASE("a buffer has whole and aligned elements", "[X3]") {
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    const auto memory = ExternalMemory::import_from(context, exported.source(), size).value();
    {
        const auto buffer = memory.map_buffer(page, 12).value();
        CHECK(buffer.span().size() == 12);
        CHECK(buffer.as<float>().value().size() == 3);
        check_refused(buffer.as<double>(), ErrorKind::invalid_argument, "12");
    }
    const ScopedOverride<entry::cuExternalMemoryGetMappedBuffer> at_an_odd_address(
        [](CUdeviceptr *address, CUexternalMemory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *) {
            *address = 0x1001;
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuMemFree> free([](CUdeviceptr) { return CUDA_SUCCESS; });
    const auto odd = memory.map_buffer(1, 8).value();
    CHECK(odd.as<char>().value().size() == 8);
    check_refused(odd.as<float>(), ErrorKind::invalid_argument, "aligned to 4");
}

TEST_CASE("the driver refuses what the memory has not", "[X3]") {
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    // It may be told too much, and maps only what is there.
    const auto memory = ExternalMemory::import_from(context, exported.source(), 4 * size).value();
    CHECK(memory.map_buffer(0, size));
    const auto beyond = memory.map_buffer(size, size);
    REQUIRE_FALSE(beyond);
    CHECK(beyond.error().status() == CUDA_ERROR_INVALID_VALUE);
    CHECK(beyond.error().api() == Api::driver);
}

// --- in what order, and what of that fails

TEST_CASE("a buffer is freed before its import, and that before its context", "[X3][X5]") {
    if (api_test::simulator() == nullptr) {
        SKIP("the order of calls can be seen on the simulator only");
    }
    api_test::restart("");
    {
        auto exported = export_memory(1).value();
        const std::size_t size = exported.size();
        ExternalBuffer buffer;
        ExternalMipmappedArray image;
        {
            const Context context = primary();
            const auto memory =
                ExternalMemory::import_from(context, exported.source(), size).value();
            buffer = memory.map_buffer(0, page).value();
            CUDA_ARRAY3D_DESCRIPTOR description{};
            description.Width = 16;
            description.Format = CU_AD_FORMAT_UNSIGNED_INT8;
            description.NumChannels = 1;
            image = memory.map_mipmapped(page, description).value();
        }
        api_test::simulator()->log_calls(1);
        image.reset();
        buffer.reset();
        api_test::simulator()->log_calls(0);
    }
    std::string order;
    cushim_sim_call call;
    for (std::size_t index = 0; api_test::simulator()->call_at(index, &call) != 0; ++index) {
        const std::string name = call.name;
        if (name.find("Destroy") != std::string::npos || name.find("Free") != std::string::npos ||
            name.find("Release") != std::string::npos) {
            order += name + " ";
        }
    }
    CHECK(order == "cuMipmappedArrayDestroy cuMemFree_v2 cuDestroyExternalMemory "
                   "cuDevicePrimaryCtxRelease_v2 ");
    CHECK(api_test::leaks().empty());
}

TEST_CASE("closing an import says what failed", "[X5]") {
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    auto memory = ExternalMemory::import_from(context, exported.source(), size).value();
    const CUexternalMemory native = memory.native();
    {
        const ScopedOverride<entry::cuDestroyExternalMemory> fails(
            [](CUexternalMemory) { return CUDA_ERROR_INVALID_HANDLE; });
        const auto closed = memory.close();
        REQUIRE_FALSE(closed);
        CHECK(closed.error().status() == CUDA_ERROR_INVALID_HANDLE);
        CHECK_FALSE(memory);
    }
    CHECK(driver().cuDestroyExternalMemory(native) == CUDA_SUCCESS);
}

// --- descriptors, whatever a driver does with them

namespace {

// What an import that cushim made was given.
CUDA_EXTERNAL_MEMORY_HANDLE_DESC given{};

// Stands in for drivers that close the descriptor, or do not, and that succeed, or do not.
template <bool closes, CUresult status>
CUresult import_otherwise(CUexternalMemory *memory,
                          const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description) {
    given = *description;
    if (closes) {
        close(description->handle.fd);
    }
    if (status == CUDA_SUCCESS) {
        *memory = reinterpret_cast<CUexternalMemory>(16);
    }
    return status;
}

CUresult destroy_otherwise(CUexternalMemory) {
    return CUDA_SUCCESS;
}

template <bool closes, CUresult status>
void check_descriptors_after(ExternalMemorySource source) {
    const ScopedOverride<entry::cuImportExternalMemory> import(import_otherwise<closes, status>);
    const ScopedOverride<entry::cuDestroyExternalMemory> destroy(destroy_otherwise);
    const Context context = primary();
    const std::size_t before = sim_test::open_descriptors();
    const int own = source.fd().get();
    const bool taken = status == CUDA_SUCCESS;
    {
        const auto memory = ExternalMemory::import_from(context, std::move(source), page);
        CHECK(memory.has_value() == taken);
        CHECK(static_cast<bool>(source.fd()) != taken);
        CHECK(is_open(own) == (!taken || source.type() == ExternalMemorySource::dma_buf_type));
        // What it was given is a duplicate.
        CHECK(given.handle.fd != own);
    }
    CHECK(sim_test::open_descriptors() == (taken ? before - 1 : before));
}

} // namespace

TEST_CASE("a descriptor is closed once, whatever the driver closes", "[X2]") {
    api_test::restart("");
    const auto opaque = [] { return ExternalMemorySource::opaque_fd(api_test::null_device()); };
    check_descriptors_after<true, CUDA_SUCCESS>(opaque());
    check_descriptors_after<true, CUDA_ERROR_UNKNOWN>(opaque());
    check_descriptors_after<false, CUDA_ERROR_INVALID_VALUE>(opaque());
}

TEST_CASE("a dma-buf is closed after its import, whether the driver takes it or not", "[X2][X12]") {
    api_test::restart("");
    if (driver_version() < Version::of(13, 0)) {
        SKIP("the driver has no dma-bufs");
    }
    const auto dma_buf = [] { return ExternalMemorySource::dma_buf(api_test::null_device()); };
    check_descriptors_after<true, CUDA_SUCCESS>(dma_buf());
    check_descriptors_after<false, CUDA_SUCCESS>(dma_buf());
    check_descriptors_after<true, CUDA_ERROR_NOT_SUPPORTED>(dma_buf());
    check_descriptors_after<false, CUDA_ERROR_NOT_SUPPORTED>(dma_buf());
}

namespace {

// The file that another thread opened.
const char *opened_meanwhile = nullptr;
UniqueFd somebody_elses;

// Closes what it is given, as driver 580 does, and then another thread opens a file, which gets that number.
CUresult close_and_reuse(CUexternalMemory *, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *description) {
    close(description->handle.fd);
    const UniqueFd opened(open(opened_meanwhile, O_RDWR | O_CLOEXEC));
    somebody_elses.reset(dup2(opened.get(), description->handle.fd));
    CHECK(somebody_elses.get() == description->handle.fd);
    return CUDA_ERROR_UNKNOWN;
}

void check_left_open(const char *meanwhile) {
    INFO(meanwhile);
    opened_meanwhile = meanwhile;
    const ScopedOverride<entry::cuImportExternalMemory> import(close_and_reuse);
    auto source = ExternalMemorySource::opaque_fd(api_test::null_device());
    CHECK_FALSE(ExternalMemory::import_from(primary(), std::move(source), page));
    CHECK(is_open(somebody_elses.get()));
    CHECK(source.fd());
    somebody_elses.reset();
}

// Whether this system tells openings of one file apart; where it does not, that number is closed.
bool tells_openings_apart() {
    const UniqueFd file = api_test::null_device();
    return fcntl(file.get(), 1027, file.get()) == 1; // F_DUPFD_QUERY, since Linux 6.10
}

} // namespace

TEST_CASE("a number that somebody else got in the meantime is left open", "[X2]") {
    api_test::restart("");
    check_left_open("/dev/zero");
    if (tells_openings_apart()) {
        check_left_open("/dev/null");
    }
}

TEST_CASE("the number that the driver gets stands where CUDA looks for it", "[X11]") {
    api_test::restart("");
    const ScopedOverride<entry::cuImportExternalMemory> import(
        import_otherwise<false, CUDA_ERROR_INVALID_VALUE>);
    const Context context = primary();
    CHECK_FALSE(ExternalMemory::import_from(
        context, ExternalMemorySource::opaque_fd(api_test::null_device()), 1024));
    CHECK(given.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
    CHECK(given.size == 1024);
    CHECK((word(given, 0) & 0xffffffff) == static_cast<unsigned long long>(given.handle.fd));
    CHECK(given.handle.fd >= 0);
}

TEST_CASE("kinds that the driver knows are its to refuse", "[X12]") {
    api_test::restart("");
    if (api_test::simulator() == nullptr) {
        SKIP("a real driver is not given handles that are none");
    }
    const Context context = primary();
    auto dma_buf = ExternalMemorySource::dma_buf(api_test::null_device());
    const auto no_dma_buf = ExternalMemory::import_from(context, std::move(dma_buf), page);
    REQUIRE_FALSE(no_dma_buf);
    CHECK(dma_buf.fd());
    if (driver_version() < Version::of(13, 0)) {
        CHECK(no_dma_buf.error().kind() == ErrorKind::requires_newer_driver);
        CHECK(no_dma_buf.error().required() == Version::of(13, 0));
        CHECK(no_dma_buf.error().installed() == driver_version());
    } else {
        CHECK(no_dma_buf.error().kind() == ErrorKind::not_supported_by_device);
    }
    int object = 0;
    const auto no_nvsci =
        ExternalMemory::import_from(context, ExternalMemorySource::nvscibuf(&object), page);
    REQUIRE_FALSE(no_nvsci);
    CHECK(no_nvsci.error().kind() == ErrorKind::not_supported_by_device);
}

// --- two processes

TEST_CASE("child writes to memory of its parent", "[.]") {
    api_test::restart("");
    auto parent = sim_test::Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    auto source = ExternalMemorySource::opaque_fd(UniqueFd(parent.receive_fd()));
    const Context context = primary();
    auto memory = ExternalMemory::import_from(context, std::move(source), size).value();
    auto buffer = memory.map_buffer(0, size).value();
    const auto words = buffer.as<unsigned int>().value();
    std::vector<unsigned int> values(words.size());
    copy(context, std::span(values), words).value();
    CHECK(values == std::vector<unsigned int>(words.size(), 41));
    fill(context, words, 42u).value();
    parent.signal();
    parent.await(); // it has read that, and let go of the memory
    copy(context, std::span(values), words).value();
    CHECK(values.back() == 42);
    buffer.close().value();
    memory.close().value();
}

TEST_CASE("memory is shared between two processes by a descriptor", "[X13][processes]") {
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    auto own = map_own(exported.memory).value();
    const auto words = own.span<unsigned int>();
    fill(context, words, 41u).value();
    sim_test::Child child("child writes to memory of its parent");
    child.channel().send(size);
    child.channel().send_fd(exported.fd.get());
    exported.fd.reset();
    child.channel().await();
    std::vector<unsigned int> values(words.size());
    copy(context, std::span(values), words).value();
    CHECK(values == std::vector<unsigned int>(words.size(), 42));
    own.close().value();
    exported.memory.close().value();
    child.channel().signal();
    CHECK(child.passed());
}

#endif
