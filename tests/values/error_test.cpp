// An Error has a kind, keeps its facts, and formats a message.
//
// These tests run with CUSHIM_DISABLE set, so that both libraries are absent.
#include <cushim/driver_table.hpp>
#include <cushim/error.hpp>
#include <cushim/feature.hpp>
#include <cushim/runtime_table.hpp>

#include "../support/contains.hpp"
#include "../support/in_threads.hpp"
#include "allocations.hpp"
#include "check.hpp"

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using cushim::Api;
using cushim::Error;
using cushim::ErrorKind;
using cushim::Version;
using support::contains;

static_assert(sizeof(Error) <= 48);
static_assert(std::is_nothrow_copy_constructible_v<Error> &&
              std::is_nothrow_copy_assignable_v<Error>);
static_assert(std::is_nothrow_move_constructible_v<Error> &&
              std::is_nothrow_move_assignable_v<Error>);
static_assert(!std::is_default_constructible_v<Error>);

namespace {

std::string message(const Error &error) {
    return error.message();
}

ErrorKind kind_of(Api api, int status) {
    return Error::status(api, status, "").kind();
}

// The properties of an error besides its message.
struct Facts {
    ErrorKind kind;
    Api api = Api::loader;
    int status = 0;
    const char *entry_point = "";
    Version required = {};
    Version installed = {};
};

void check_facts(const Error &error, const Facts &expected) {
    CHECK(error.kind() == expected.kind);
    CHECK(error.api() == expected.api);
    CHECK(error.status() == expected.status);
    CHECK(std::string(error.entry_point()) == expected.entry_point);
    CHECK(error.required() == expected.required);
    CHECK(error.installed() == expected.installed);
}

const std::string out_of_memory_message = "out of memory (cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY)";

Error out_of_memory(const char *detail = nullptr) {
    return Error::status(Api::driver, 2, "cuMemAlloc_v2", detail);
}

} // namespace

TEST_CASE("an error of a further library has its own status and name") {
    const auto made = [](int status, const char *name, const char *detail = "") {
        return Error::make({.kind = ErrorKind::not_permitted,
                            .api = Api::library,
                            .status = status,
                            .entry_point = "otherCall",
                            .detail = detail,
                            .library = CUSHIM_LIBRARY_RUNTIME,
                            .status_name = name});
    };
    const Error error = made(2, "OTHER_ERROR_REFUSED");
    check_facts(error, {ErrorKind::not_permitted, Api::library, 2, "otherCall"});
    CHECK(error.library() == CUSHIM_LIBRARY_RUNTIME);
    CHECK(message(error) == "otherCall: OTHER_ERROR_REFUSED");
    CHECK(message(made(2, "OTHER_ERROR_REFUSED", "no such thing")) ==
          "no such thing (otherCall: OTHER_ERROR_REFUSED)");
    CHECK(message(made(2, "OTHER_ERROR_REFUSED", "a log:\nof lines")) ==
          "otherCall: OTHER_ERROR_REFUSED: a log:\nof lines");
    CHECK(message(made(77, nullptr)) == std::string("otherCall: unknown ") +
                                            cushim_library_title(CUSHIM_LIBRARY_RUNTIME) +
                                            " status 77");

    Error copy = error, moved = std::move(copy);
    CHECK(message(moved) == "otherCall: OTHER_ERROR_REFUSED");
    CHECK(moved == error);
    CHECK(moved.library() == error.library());
    CHECK_FALSE(error == Error::make({.kind = ErrorKind::not_permitted,
                                      .api = Api::library,
                                      .status = 2,
                                      .entry_point = "otherCall"}));
    CHECK(Error::status(Api::runtime, 2, "cudaMalloc").library() == CUSHIM_LIBRARY_RUNTIME);
    CHECK(Error::symbol(CUSHIM_LIBRARY_RUNTIME, "cudaGhost").library() == CUSHIM_LIBRARY_RUNTIME);
    CHECK(out_of_memory().library() == CUSHIM_LIBRARY_DRIVER);
}

TEST_CASE("the kind of an error follows from the status") {
    const std::pair<ErrorKind, std::vector<int>> both[] = {
        {ErrorKind::out_of_memory, {2}},
        {ErrorKind::stub_library, {34}},
        {ErrorKind::requires_newer_driver, {36}},
        {ErrorKind::no_device, {100}},
        {ErrorKind::wrong_context, {201}},
        {ErrorKind::symbol_not_found, {302}},
        {ErrorKind::library_not_found, {303}},
        {ErrorKind::not_permitted, {800, 900, 906, 907}},
        {ErrorKind::not_supported_by_device, {801}},
        {ErrorKind::capture_invalidated, {901}},
        {ErrorKind::status,
         {0, 1, 3, 4, 46, 101, 400, 600, 719, 902, 903, 904, 905, 908, 999, -1, 100000}},
    };
    for (const auto &[kind, statuses] : both) {
        for (const int status : statuses) {
            INFO(status);
            CHECK(kind_of(Api::driver, status) == kind);
            CHECK(kind_of(Api::runtime, status) == kind);
        }
    }
    // Only the runtime library has this code, which it returns without a usable driver.
    CHECK(kind_of(Api::runtime, 35) == ErrorKind::library_not_found);
    CHECK(kind_of(Api::driver, 35) == ErrorKind::status);
}

TEST_CASE("name() of every kind is its enumerator") {
    constexpr std::pair<ErrorKind, const char *> names[] = {
        {ErrorKind::library_not_found, "library_not_found"},
        {ErrorKind::stub_library, "stub_library"},
        {ErrorKind::no_device, "no_device"},
        {ErrorKind::symbol_not_found, "symbol_not_found"},
        {ErrorKind::requires_newer_driver, "requires_newer_driver"},
        {ErrorKind::requires_newer_headers, "requires_newer_headers"},
        {ErrorKind::not_supported_by_device, "not_supported_by_device"},
        {ErrorKind::unsupported_platform, "unsupported_platform"},
        {ErrorKind::invalid_argument, "invalid_argument"},
        {ErrorKind::wrong_context, "wrong_context"},
        {ErrorKind::capture_invalidated, "capture_invalidated"},
        {ErrorKind::out_of_memory, "out_of_memory"},
        {ErrorKind::not_permitted, "not_permitted"},
        {ErrorKind::status, "status"},
    };
    for (const auto &[kind, expected] : names) {
        CHECK(std::string(cushim::name(kind)) == expected);
        CHECK(message(Error::make({.kind = kind})).size() > 10);
    }
    CHECK(std::string(cushim::name(static_cast<ErrorKind>(14))) == "unknown");
    CHECK(message(Error::make({.kind = static_cast<ErrorKind>(255)})) == "unknown error");
}

TEST_CASE("an error from a status keeps the entry point and the status") {
    const Error error = Error::status(Api::driver, 2, "cuMemAlloc_v2");

    check_facts(error, {ErrorKind::out_of_memory, Api::driver, 2, "cuMemAlloc_v2"});
    CHECK(message(error) == out_of_memory_message);
}

TEST_CASE("messages contain the API's own description of the status") {
    const auto driver_words = [](CUresult status) {
        const char *words = nullptr;
        const CUresult found = cushim::driver().cuGetErrorString(status, &words);
        return std::string(found == CUDA_SUCCESS ? words : "no words");
    };
    const std::string malloc_words =
        cushim::runtime().cudaGetErrorString(cudaErrorMemoryAllocation);

    CHECK(message(Error::status(Api::runtime, 2, "cudaMalloc")) ==
          malloc_words + " (cudaMalloc: cudaErrorMemoryAllocation)");
    CHECK(message(Error::status(Api::driver, 719, "cuLaunchKernel")) ==
          driver_words(CUDA_ERROR_LAUNCH_FAILED) + " (cuLaunchKernel: CUDA_ERROR_LAUNCH_FAILED)");
    for (const char *const nothing : {"", static_cast<const char *>(nullptr)}) {
        CHECK(message(Error::status(Api::driver, 1, nothing)) ==
              driver_words(CUDA_ERROR_INVALID_VALUE) + " (CUDA_ERROR_INVALID_VALUE)");
    }
    CHECK(message(Error::status(Api::driver, 0, "cuInit")) ==
          driver_words(CUDA_SUCCESS) + " (cuInit: CUDA_SUCCESS)");
}

TEST_CASE("a status unknown to CUDA appears as a number in the message") {
    for (const Api api : {Api::driver, Api::runtime}) {
        for (const int status : {777, -1, 5000, 12345, 100000}) {
            INFO(status);
            CHECK(message(Error::status(api, status, "call")) ==
                  "call: unknown CUDA status " + std::to_string(status));
        }
    }
}

TEST_CASE("a detail is copied into the message") {
    char detail[] = "512 bytes at 1024 of 1200";
    const Error argument = Error::invalid_argument(detail);
    const Error status = out_of_memory(detail);
    const Error made = Error::make({.kind = ErrorKind::not_supported_by_device,
                                    .api = Api::driver,
                                    .entry_point = "cuMulticastCreate",
                                    .detail = detail});
    const Error platform = Error::unsupported_platform(detail);
    detail[0] = '\0';

    check_facts(argument, {ErrorKind::invalid_argument});
    CHECK(message(argument) == "512 bytes at 1024 of 1200");
    CHECK(message(status) == "512 bytes at 1024 of 1200 (cuMemAlloc_v2: CUDA_ERROR_OUT_OF_MEMORY)");
    CHECK(message(made) == "cuMulticastCreate: 512 bytes at 1024 of 1200");
    CHECK(platform.kind() == ErrorKind::unsupported_platform);
    CHECK(message(platform) == "512 bytes at 1024 of 1200");
    CHECK(message(Error::invalid_argument(nullptr)) == "invalid argument");
    CHECK(message(Error::invalid_argument("")) == "invalid argument");
}

TEST_CASE("an error keeps all parts that it is made of") {
    const Error error = Error::make({.kind = ErrorKind::wrong_context,
                                     .api = Api::runtime,
                                     .status = 201,
                                     .entry_point = "cudaLaunchKernel",
                                     .required = Version::of(12, 0),
                                     .installed = Version::of(11, 4),
                                     .detail = "of device 1"});

    check_facts(error, {ErrorKind::wrong_context, Api::runtime, 201, "cudaLaunchKernel",
                        Version::of(12, 0), Version::of(11, 4)});
    CHECK(contains(message(error), "(cudaLaunchKernel: cudaErrorDeviceUninitialized)"));
    CHECK(contains(message(error), "of device 1"));
}

TEST_CASE("the message of an absent library contains the load report's explanation and hint") {
    for (const cushim_library library : {CUSHIM_LIBRARY_DRIVER, CUSHIM_LIBRARY_RUNTIME}) {
        REQUIRE(cushim_load(library) == CUSHIM_STATE_ABSENT);
        const cushim_report *report = cushim_load_report(library);
        REQUIRE(std::string(report->explanation).size() > 10);
        REQUIRE(!std::string(report->hint).empty());
        const Error error = Error::absent(library);

        check_facts(error,
                    {ErrorKind::library_not_found, Api::loader, cushim_absent_status(library)});
        CHECK(error.status() != 0);
        CHECK(message(error).find(report->explanation) == 0);
        CHECK(contains(message(error), report->hint));
        CHECK_FALSE(contains(message(error), ".."));
    }
}

TEST_CASE("the message of a status that means an absent library explains the cause") {
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_ABSENT);
    const std::string driver = cushim_load_report(CUSHIM_LIBRARY_DRIVER)->explanation;
    const std::string runtime = cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->explanation;

    for (const auto &[error, begin] : {
             std::pair{Error::status(Api::driver, 303, "cuInit"), driver + " (cuInit 303). Hint: "},
             std::pair{Error::status(Api::runtime, 35, "cudaGetDeviceCount"),
                       driver + " (cudaGetDeviceCount 35). Hint: "},
             std::pair{Error::status(Api::runtime, 303, "cudaMalloc"),
                       runtime + " (cudaMalloc 303). Hint: "},
         }) {
        CHECK(message(error).starts_with(begin));
    }
    const std::string detailed = message(Error::status(Api::driver, 303, "cuInit", "device 3"));
    CHECK(detailed.starts_with(driver + " (cuInit 303): device 3. Hint: "));
}

TEST_CASE("the message of a missing entry point names it") {
    const Error driver = Error::symbol(CUSHIM_LIBRARY_DRIVER, "cuGhost");
    const Error runtime = Error::symbol(CUSHIM_LIBRARY_RUNTIME, "cudaGhost");

    check_facts(driver, {ErrorKind::symbol_not_found, Api::loader, 302, "cuGhost"});
    CHECK(message(driver) == "the CUDA driver lacks the entry point cuGhost");
    CHECK(message(runtime) == "the CUDA runtime library lacks the entry point cudaGhost");
    const Error known = Error::make({.kind = ErrorKind::symbol_not_found,
                                     .entry_point = "cuGhost",
                                     .installed = Version::of(12, 4)});
    CHECK(message(known) == "the CUDA driver (12.4) lacks the entry point cuGhost");
}

TEST_CASE("the message of a driver that is too old names both versions") {
    const Error error =
        Error::requires_newer_driver("cuLibraryLoadData", Version::of(12, 0), Version::of(11, 4));

    check_facts(error, {ErrorKind::requires_newer_driver, Api::loader, 36, "cuLibraryLoadData",
                        Version::of(12, 0), Version::of(11, 4)});
    CHECK(message(error) ==
          "cuLibraryLoadData requires a driver for CUDA 12.0 or newer; the installed "
          "driver is for CUDA 11.4");
    CHECK(message(Error::requires_newer_driver("cuGhost", Version(), Version::of(11, 4))) ==
          "cuGhost requires a newer driver; the installed driver is for CUDA 11.4");
    CHECK(message(Error::requires_newer_driver("cuGhost", Version::of(12, 0), Version())) ==
          "cuGhost requires a driver for CUDA 12.0 or newer");
    CHECK(message(Error::requires_newer_driver(name(cushim::Feature::graphs), Version::of(10, 0),
                                               Version())) ==
          "Feature::graphs requires a driver for CUDA 10.0 or newer");
    CHECK(message(Error::requires_newer_driver("", Version(), Version())) ==
          "a newer CUDA driver is needed");
}

TEST_CASE("the message of headers that are too old names both versions") {
    const Version headers(cushim_headers_version());
    const Error error = Error::requires_newer_headers("cuGhost", Version::of(99, 9));

    CHECK(error.kind() == ErrorKind::requires_newer_headers);
    CHECK(error.required() == Version::of(99, 9));
    CHECK(error.installed() == headers);
    CHECK(message(error) == std::string("cuGhost requires a build with the headers of CUDA 99.9 or "
                                        "newer; this build used those of ") +
                                to_text(headers).c_str());
    CHECK(contains(message(Error::requires_newer_headers("cuGhost", Version())), "a newer CUDA"));
}

TEST_CASE("copies of an error share its message and keep it alive") {
    Error first = out_of_memory();
    const char *const text = first.message();
    CHECK(first.message() == text);
    const Error copy = first;
    CHECK(copy.message() == text);
    first = Error::invalid_argument("another");
    const Error moved = std::move(first);

    CHECK(text == out_of_memory_message);
    CHECK(message(moved) == "another");
    // A moved-from error keeps its kind and has a message without the detail.
    CHECK(first.kind() == ErrorKind::invalid_argument);
    CHECK(message(first) == "invalid argument");
}

TEST_CASE("self-assignment leaves an error unchanged") {
    Error error = Error::invalid_argument("kept");
    Error &same = error;
    error = same;
    CHECK(message(error) == "kept");
    error = std::move(same);
    CHECK(message(error) == "kept");
}

#if VALUES_SEES_LIBRARY_ALLOCATIONS

TEST_CASE("an error allocates memory for its detail and for its message") {
    const long live = support::live_allocations();
    const long before = support::allocations();
    {
        const Error plain = Error::status(Api::driver, 2, "cuMemAlloc_v2");
        Error copy = plain;
        copy = Error::requires_newer_driver("cuGhost", Version::of(12, 0), Version::of(11, 4));
        const Error absent = Error::absent(CUSHIM_LIBRARY_DRIVER);
        CHECK(support::allocations() == before);

        const char *const text = plain.message();
        const Error sharing = plain;
        const bool same = sharing.message() == text && plain.message() == text;
        CHECK(support::allocations() == before + 2);
        CHECK(same);

        const Error detailed = Error::invalid_argument("detail");
        const Error detailed_copy = detailed;
        const bool shared = detailed_copy.message() == detailed.message();
        CHECK(support::allocations() == before + 4);
        CHECK(shared);
    }
    CHECK(support::live_allocations() == live);
}

TEST_CASE("an error without memory for its message returns a short one") {
    const Error error = out_of_memory();
    {
        const support::NoMemory no_memory;
        const Error detailed = Error::invalid_argument("a detail that cannot be copied");
        CHECK(message(error) == "out of memory");
        CHECK(message(detailed) == "invalid argument");
    }
    CHECK(message(error) == out_of_memory_message); // memory is available again
}

#endif

TEST_CASE("threads can call message() of one error at the same time") {
#if VALUES_SEES_LIBRARY_ALLOCATIONS
    const long live = support::live_allocations();
#endif
    constexpr int rounds = 50;
    constexpr unsigned int thread_count = 8;
    for (int round = 0; round != rounds; ++round) {
        const Error error = out_of_memory();
        const char *texts[thread_count] = {};
        bool copies_agree[thread_count] = {};
        support::in_threads(thread_count, [&](unsigned int i) {
            const Error early = error;
            texts[i] = error.message();
            const Error late = error;
            copies_agree[i] = late.message() == texts[i] && message(early) == texts[i];
        });
        for (std::size_t i = 0; i != thread_count; ++i) {
            REQUIRE(texts[i] == texts[0]);
            REQUIRE(copies_agree[i]);
        }
        REQUIRE(message(error) == out_of_memory_message);
    }
#if VALUES_SEES_LIBRARY_ALLOCATIONS
    CHECK(support::live_allocations() == live);
#endif
}
