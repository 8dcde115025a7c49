// Ownership of the file descriptors of external memory and semaphores.
#include "harness/external.hpp"

#include <cushim/external_semaphore.hpp>
#include <cushim/override.hpp>

#include "harness/exported_memory.hpp"
#include "harness/simulated_semaphore.hpp"

#include <algorithm>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

using namespace api_test;
using namespace cushim;
using support::is_open;

namespace {

constexpr std::size_t page = 4096;

std::size_t open_descriptors() {
    return simulator() != nullptr ? support::open_descriptors() : 0;
}

} // namespace

// --- memory

TEST_CASE("a failed import returns its descriptor", "[X2]") {
    const Context context = context_after_restart("");
    auto source = ExternalMemorySource::opaque_fd(null_device());
    const int number = source.fd().get();
    const std::size_t before = open_descriptors();
    const Error refused = error_of(ExternalMemory::import_from(context, std::move(source), page));
    CHECK(refused.status() == CUDA_ERROR_UNKNOWN);
    CHECK(source.fd().get() == number);
    CHECK(is_open(number));
    CHECK(open_descriptors() == before);
    const UniqueFd back = source.take_fd();
    CHECK(back.get() == number);
    CHECK_FALSE(source.fd());
}

// Descriptors of imports that failed after their effect; these are leaked.
static std::size_t descriptors_of_failed_imports() {
    const auto left = leaks();
    return static_cast<std::size_t>(std::count_if(left.begin(), left.end(), [](const auto &line) {
        return line.find("external memory") != line.npos ||
               line.find("external semaphore") != line.npos;
    }));
}

SCENARIO_TEST("an import takes ownership of its descriptor and opens no other", "[X2]",
              (const Context &context)) {
    CUSHIM_TRY(auto exported, export_memory(1));
    const std::size_t size = exported.size();
    auto source = exported.source();
    const int number = source.fd().get();
    const std::size_t before = open_descriptors();
    auto memory = ExternalMemory::import_from(context, std::move(source), size);
    CHECK(static_cast<bool>(source.fd()) != memory.has_value());
    CHECK(is_open(number) != memory.has_value());
    if (!memory) {
        CHECK(open_descriptors() == before + descriptors_of_failed_imports());
    }
    CUSHIM_TRY_VOID(memory);
    CUSHIM_TRY_VOID(memory->close());
    return {};
}

// --- memory: descriptors closed or kept by the driver

namespace {

// The description that the last import received.
CUDA_EXTERNAL_MEMORY_HANDLE_DESC given{};

// Stands in for drivers that close the descriptor or not, and succeed or fail.
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
    const std::size_t before = support::open_descriptors();
    const int own = source.fd().get();
    const bool taken = status == CUDA_SUCCESS;
    {
        const auto memory = ExternalMemory::import_from(context, std::move(source), page);
        CHECK(memory.has_value() == taken);
        CHECK(static_cast<bool>(source.fd()) != taken);
        CHECK(is_open(own) == (!taken || source.type() == ExternalMemorySource::dma_buf_type));
        // The driver received a duplicate.
        CHECK(given.handle.fd != own);
    }
    CHECK(support::open_descriptors() == (taken ? before - 1 : before));
}

} // namespace

TEST_CASE("a descriptor is closed once, whether the driver closes it or not", "[X2]") {
    restart("");
    const auto opaque = [] { return ExternalMemorySource::opaque_fd(null_device()); };
    check_descriptors_after<true, CUDA_SUCCESS>(opaque());
    check_descriptors_after<true, CUDA_ERROR_UNKNOWN>(opaque());
    check_descriptors_after<false, CUDA_ERROR_INVALID_VALUE>(opaque());
}

TEST_CASE("a dma-buf descriptor is closed once, whether the driver closes it or not", "[X2][X12]") {
    restart("");
    if (driver_version() < Version::of(13, 0)) {
        SKIP("the driver does not support dma-bufs");
    }
    const auto dma_buf = [] { return ExternalMemorySource::dma_buf(null_device()); };
    check_descriptors_after<true, CUDA_SUCCESS>(dma_buf());
    check_descriptors_after<false, CUDA_SUCCESS>(dma_buf());
    check_descriptors_after<true, CUDA_ERROR_NOT_SUPPORTED>(dma_buf());
    check_descriptors_after<false, CUDA_ERROR_NOT_SUPPORTED>(dma_buf());
}

namespace {

// The file that another thread opened.
const char *opened_meanwhile = nullptr;
UniqueFd somebody_elses;

// Closes the descriptor, as driver 580 does, and opens a file with the same number, as another
// thread might.
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
    auto source = ExternalMemorySource::opaque_fd(null_device());
    CHECK_FALSE(ExternalMemory::import_from(primary(), std::move(source), page));
    CHECK(is_open(somebody_elses.get()));
    CHECK(source.fd());
    somebody_elses.reset();
}

// Whether this system distinguishes two openings of one file; otherwise cushim closes the number.
bool tells_openings_apart() {
    const UniqueFd file = null_device();
    return fcntl(file.get(), 1027, file.get()) == 1; // F_DUPFD_QUERY, since Linux 6.10
}

} // namespace

TEST_CASE("a descriptor number that another thread has reused stays open", "[X2]") {
    restart("");
    check_left_open("/dev/zero");
    if (tells_openings_apart()) {
        check_left_open("/dev/null");
    }
}

// --- semaphores

SCENARIO_TEST("a semaphore takes ownership of its descriptor if the import succeeds", "[X7]",
              (Trial &trial, const Context &context)) {
    need_simulator(trial);
    UniqueFd fd(simulator()->make_semaphore_fd(0));
    const int number = fd.get();
    const std::size_t before = support::open_descriptors();
    auto semaphore = BinarySemaphore::import_fd(context, std::move(fd));
    CHECK(static_cast<bool>(fd) != semaphore.has_value());
    CHECK(support::is_open(number) != semaphore.has_value());
    if (!semaphore) {
        CHECK(support::open_descriptors() == before + descriptors_of_failed_imports());
    }
    CUSHIM_TRY_VOID(semaphore);
    return semaphore->close();
}

TEST_CASE("a failed import of a semaphore leaves its descriptor to the caller", "[X7]") {
    const Context context = context_after_restart("");
    UniqueFd wrong = null_device();
    const int number = wrong.get();
    const std::size_t before = support::open_descriptors();
    for (const auto &status :
         {BinarySemaphore::import_fd(context, std::move(wrong)).error().status(),
          TimelineSemaphore::import_fd(context, std::move(wrong)).error().status()}) {
        CHECK(status == CUDA_ERROR_UNKNOWN);
    }
    CHECK(wrong.get() == number);
    CHECK(support::is_open(number));
    if (simulator() != nullptr) { // a real driver may open some
        CHECK(support::open_descriptors() == before);
    }
}

TEST_CASE("importing a semaphore rejects a closed descriptor and leaves it to the caller", "[X7]") {
    const Context context = context_after_restart("");
    const int closed = null_device().get();
    UniqueFd stale(closed);
    check_refused(TimelineSemaphore::import_fd(context, std::move(stale)), std::to_string(closed));
    CHECK(stale.release() == closed);
}
