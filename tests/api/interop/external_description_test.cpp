// Handles of memory and semaphores in CUDA's structures.
#include "harness/external.hpp"

#include <cushim/override.hpp>

#include "../../src/api/interop/external_descriptions.hpp"
#include "harness/exported_memory.hpp"

#include <utility>

using namespace api_test;
using namespace cushim;

// --- memory

TEST_CASE("a Windows handle is described by its value or its name", "[X11]") {
    const auto by_handle = detail::description_of(
        ExternalMemorySource::opaque_win32(Win32Handle::handle(handle_of(0xDEADBEEF12345678))),
        2048);
    CHECK(by_handle.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_WIN32);
    CHECK(word(by_handle.handle, 0) == 0xDEADBEEF12345678);
    CHECK(word(by_handle.handle, 1) == 0);
    CHECK(by_handle.size == 2048);
    CHECK(by_handle.flags == 0);

    const wchar_t *const name = L"Local\\memory";
    const auto by_name = detail::description_of(
        ExternalMemorySource::opaque_win32(Win32Handle::named(name), {.dedicated = true}), 2048);
    CHECK(word(by_name.handle, 0) == 0);
    CHECK(by_name.handle.win32.name == name);
    CHECK(word(by_name.handle, 1) == reinterpret_cast<unsigned long long>(name));
    CHECK(by_name.flags == CUDA_EXTERNAL_MEMORY_DEDICATED);
}

TEST_CASE("every kind of memory has CUDA's type and flags", "[X11][X12]") {
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
        CHECK(word(description.handle, 0) == (has_fd ? 0u : 16u));
        CHECK(word(description.handle, 1) == 0);
        for (const unsigned int reserved : description.reserved) {
            CHECK(reserved == 0);
        }
    }
}

TEST_CASE("invalid sources are rejected without a driver call", "[X2][X12]") {
    const Context context = context_after_restart("");
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
    check_refused(import_of(Source::nvscibuf(nullptr)), "null");
    check_refused(import_of(Source::nvscibuf(&calls), 0), "the size is 0");
    check_refused(ExternalMemory::import_from(Context(), Source::nvscibuf(&calls), 1),
                  "Context is empty");
#ifdef _WIN32
    check_refused(import_of(Source::opaque_fd(UniqueFd(0))), "", ErrorKind::unsupported_platform);
    check_refused(import_of(Source::dma_buf(UniqueFd(0))), "", ErrorKind::unsupported_platform);
    check_refused(import_of(Source::opaque_win32(Win32Handle::handle(nullptr))), "null");
    check_refused(import_of(Source::d3d12_heap(Win32Handle::named(nullptr))), "null");
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
        check_refused(import_of(std::move(source)), "Windows", ErrorKind::unsupported_platform);
    }
    check_refused(import_of(Source::opaque_fd({})), "the UniqueFd is empty");
    const int closed = null_device().get();
    Source stale = Source::opaque_fd(UniqueFd(closed));
    check_refused(import_of(std::move(stale)), std::to_string(closed));
    (void)stale.take_fd().release();
    CHECK(calls == 0);
#endif
}

#ifndef _WIN32

namespace {

CUDA_EXTERNAL_MEMORY_HANDLE_DESC described_memory{};

CUresult describe_memory(CUexternalMemory *, const CUDA_EXTERNAL_MEMORY_HANDLE_DESC *given) {
    described_memory = *given;
    return CUDA_ERROR_UNKNOWN;
}

} // namespace

TEST_CASE("an imported descriptor is in the fd field of the description", "[X11]") {
    restart("");
    const ScopedOverride<entry::cuImportExternalMemory> import(describe_memory);
    const Context context = primary();
    CHECK_FALSE(
        ExternalMemory::import_from(context, ExternalMemorySource::opaque_fd(null_device()), 1024));
    CHECK(described_memory.type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD);
    CHECK(described_memory.size == 1024);
    CHECK((word(described_memory.handle, 0) & 0xffffffff) ==
          static_cast<unsigned long long>(described_memory.handle.fd));
    CHECK(described_memory.handle.fd >= 0);
}

#endif

// --- semaphores

namespace {

CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC described{};

CUresult describe_semaphore(CUexternalSemaphore *,
                            const CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC *given) {
    described = *given;
    return CUDA_ERROR_UNKNOWN;
}

} // namespace

TEST_CASE("every kind of semaphore is imported with its type on its platform", "[X7][X11][X12]") {
    const Context context = context_after_restart("");
    const ScopedOverride<entry::cuImportExternalSemaphore> import(describe_semaphore);
#ifdef _WIN32
    constexpr bool on_windows = true;
    UniqueFd some_fd(0);
#else
    constexpr bool on_windows = false;
    UniqueFd some_fd = null_device();
#endif
    // The driver must receive a handle of this type if the system has such handles.
    const auto check = [](const auto &result, int type, bool is_possible) {
        INFO("type " << type);
        const Error error = error_of(result);
        CHECK(error.kind() == (is_possible ? ErrorKind::status : ErrorKind::unsupported_platform));
        CHECK(error.status() == (is_possible ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS));
        CHECK(static_cast<int>(described.type) == (is_possible ? type : 0));
        described = {};
    };
    const auto nt = Win32Handle::handle(handle_of(16));
    void *const kmt = handle_of(16);
    check(BinarySemaphore::import_win32(context, nt), 2, on_windows);
    check(BinarySemaphore::import_win32_kmt(context, kmt), 3, on_windows);
    check(TimelineSemaphore::import_d3d12_fence(context, nt), 4, on_windows);
    check(TimelineSemaphore::import_d3d11_fence(context, nt), 5, on_windows);
    check(KeyedMutex::import_d3d11(context, nt), 7, on_windows);
    check(KeyedMutex::import_d3d11_kmt(context, kmt), 8, on_windows);
    check(TimelineSemaphore::import_win32(context, nt), 10, on_windows);
    check(BinarySemaphore::import_fd(context, std::move(some_fd)), 1, !on_windows);
    check(TimelineSemaphore::import_fd(context, std::move(some_fd)), 9, !on_windows);
    CHECK((on_windows || some_fd));
    int object = 0;
    check(NvSciSemaphore::import_from(context, &object),
          CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_NVSCISYNC, true);
    check_refused(NvSciSemaphore::import_from(context, nullptr), "null");
    check_refused(NvSciSemaphore::import_from(Context(), &object), "Context is empty");
}
