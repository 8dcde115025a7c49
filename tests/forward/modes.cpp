// One program of translation units in different modes: each calls the variants of its mode.
#include "modes.hpp"
#include "fake_library.hpp"

#include <cushim/loader.h>

#include <catch2/catch_test_macros.hpp>

#include <cstring>
#include <string>

// CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, a flag of cuGetProcAddress and
// cuGetProcAddress_v2.
static constexpr unsigned long long ask_for_per_thread = 2;

using namespace support;

namespace {

const fake_control &control(const char *variable) {
    REQUIRE(cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED);
    REQUIRE(cushim_load(CUSHIM_LIBRARY_RUNTIME) == CUSHIM_STATE_LOADED);
    return *fake_control_of(required_variable(variable));
}

fake_record reached(const char *variable, void (*call)()) {
    const fake_control &fake = control(variable);
    fake.reset();
    fake.arm(1);
    call();
    const fake_record record = *fake.last();
    fake.reset();
    REQUIRE(record.name != nullptr);
    return record;
}

fake_record driver(void (*call)()) {
    return reached("CUSHIM_DRIVER", call);
}
fake_record runtime(void (*call)()) {
    return reached("CUSHIM_RUNTIME", call);
}

// The value of an argument of eight bytes.
unsigned long long eight_bytes(const fake_record &record, unsigned int argument) {
    unsigned int at = 0;
    for (unsigned int i = 0; i != argument; ++i) {
        at += record.sizes[i];
    }
    unsigned long long value = 0;
    REQUIRE(record.sizes[argument] == sizeof value);
    std::memcpy(&value, record.bytes + at, sizeof value);
    return value;
}

} // namespace

TEST_CASE("one program calls the legacy and the per-thread variant of the same name") {
    // Alternates twice: neither mode may use the function that the other resolved.
    for (int round = 0; round != 2; ++round) {
        CHECK(driver(legacy_calls().copy).name == std::string("cuMemcpyHtoD_v2"));
        CHECK(driver(per_thread_calls().copy).name == std::string("cuMemcpyHtoD_v2_ptds"));
        CHECK(driver(legacy_calls().stream).name == std::string("cuStreamQuery"));
        CHECK(driver(per_thread_calls().stream).name == std::string("cuStreamQuery_ptsz"));
        CHECK(runtime(legacy_calls().runtime_copy).name == std::string("cudaMemcpy"));
        CHECK(runtime(per_thread_calls().runtime_copy).name == std::string("cudaMemcpy_ptds"));
    }
}

TEST_CASE("cuGetProcAddress asks for per-thread variants in the per-thread mode") {
    const fake_record legacy = driver(legacy_calls().look_up);
    const fake_record per_thread = driver(per_thread_calls().look_up);
    CHECK(std::string(legacy.name) == per_thread.name);
    CHECK(eight_bytes(legacy, 3) == 0);
    CHECK(eight_bytes(per_thread, 3) == ask_for_per_thread);
}

TEST_CASE("the headers' internal mode calls the first and the second ABI") {
    const fake_record first = driver(allocate_by_first_abi);
    CHECK(first.name == std::string("cuMemAlloc"));
    CHECK(first.sizes[1] == 4);
    const fake_record second = driver(allocate_by_second_abi);
    CHECK(second.name == std::string("cuMemAlloc_v2"));
    CHECK(eight_bytes(second, 1) == 0x1122334455667788);
    CHECK(driver(copy_2d_by_first_abi).name == std::string("cuMemcpy2D"));
}
