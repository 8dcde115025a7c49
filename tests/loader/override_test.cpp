// Overrides replace single entry points for a scope, with or without a library.
#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include <cushim/device.hpp>

#include "machine.hpp"

using namespace support;
namespace entry = cushim::entry;

TEST_CASE("an override works without a library", "[override_absent]") {
    set_variable("CUSHIM_DISABLE", "1");
    {
        const cushim::ScopedOverride<entry::cuDeviceGetCount> two([](int *count) {
            *count = 2;
            return CUDA_SUCCESS;
        });
        int count = 0;
        CHECK(cushim::driver().cuDeviceGetCount(&count) == CUDA_SUCCESS);
        CHECK(count == 2);
        CHECK(driver_report().state == CUSHIM_STATE_NOT_TRIED); // the override loads no library
        CHECK(cushim::is_available<entry::cuDeviceGetCount>());
        const auto pfn = cushim::driver().pfn<entry::cuDeviceGetCount>();
        REQUIRE(pfn);
        CHECK((*pfn)(&count) == CUDA_SUCCESS);
        CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED); // not overridden
    }
    int count = 5;
    CHECK(cushim::driver().cuDeviceGetCount(&count) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(count == 5);
    CHECK_FALSE(cushim::is_available<entry::cuDeviceGetCount>());
}

TEST_CASE("an override applies to calls of the wrappers", "[override_wrappers]") {
    set_variable("CUSHIM_DISABLE", "1");
    const cushim::ScopedOverride<entry::cuInit> init([](unsigned int) { return CUDA_SUCCESS; });
    const cushim::ScopedOverride<entry::cuDeviceGetCount> two([](int *count) {
        *count = 2;
        return CUDA_SUCCESS;
    });
    const auto count = cushim::Device::count();
    REQUIRE(count);
    CHECK(*count == 2);
}

TEST_CASE("nested overrides restore the previous function", "[override_nested]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const CUresult real = cushim::driver().cuInit(0);
    {
        const cushim::ScopedOverride<entry::cuInit> outer(
            [](unsigned int) { return CUDA_ERROR_NO_DEVICE; });
        {
            const cushim::ScopedOverride<entry::cuInit> inner(
                [](unsigned int) { return CUDA_ERROR_OUT_OF_MEMORY; });
            CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_OUT_OF_MEMORY);
            CHECK(inner.original()(0) == CUDA_ERROR_NO_DEVICE);
        }
        CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
        CHECK(outer.original()(0) == real);
    }
    CHECK(cushim::driver().cuInit(0) == real);
}

// The replacement calls the original, which has not been called before.
template <class Entry>
struct PassedOn {
    static inline const cushim::ScopedOverride<Entry> *scope = nullptr;
    static inline int depth = 0;
    static CUresult call(unsigned int flags) {
        if (++depth > 1) {
            return CUDA_ERROR_UNKNOWN; // it has called itself
        }
        const CUresult result = scope->original()(flags);
        --depth;
        return result;
    }
};

CUresult passed_on_init() {
    using Replacement = PassedOn<entry::cuInit>;
    const cushim::ScopedOverride<entry::cuInit> scope(Replacement::call);
    Replacement::scope = &scope;
    const CUresult result = cushim::driver().cuInit(0);
    CHECK(Replacement::depth == 0);
    CHECK(cushim::driver().cuInit(0) == result);
    return result;
}

TEST_CASE("the original of an entry point that was never called is the library's function",
          "[override_original]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    const CUresult through_override = passed_on_init();
    CHECK(through_override == cushim::driver().cuInit(0));
    CHECK(cushim::driver().pfn<entry::cuInit>());
}

TEST_CASE("the original of an entry point that is missing returns the status of its absence",
          "[override_original_absent]") {
    set_variable("CUSHIM_DISABLE", "1");
    CHECK(passed_on_init() == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
}

TEST_CASE("an entry point can be overridden by name", "[override_name]") {
    set_variable("CUSHIM_DISABLE", "1");
    const auto init = +[](unsigned int) { return CUDA_ERROR_NO_DEVICE; };
    const cushim_function before = cushim_exchange_by_name(CUSHIM_LIBRARY_DRIVER, "cuInit",
                                                           reinterpret_cast<cushim_function>(init));
    REQUIRE(before != nullptr);
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_NO_DEVICE);
    CHECK(cushim_exchange_by_name(CUSHIM_LIBRARY_DRIVER, "cuInit", before) ==
          reinterpret_cast<cushim_function>(init));
    CHECK(cushim::driver().cuInit(0) == CUDA_ERROR_SHARED_OBJECT_INIT_FAILED);
    CHECK(cushim_exchange_by_name(CUSHIM_LIBRARY_DRIVER, "cudaMalloc", before) == nullptr);
    CHECK(cushim_exchange_by_name(CUSHIM_LIBRARY_RUNTIME, "cuInit", before) == nullptr);
}

// A first call publishes its function only if the slot is unchanged, so that an override that
// begins meanwhile remains.
TEST_CASE("an override takes effect during first calls of other threads", "[override_race]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    std::atomic<bool> stop = false;
    std::atomic<int> strange = 0;
    const CUresult own = CUDA_ERROR_NO_DEVICE;
    const CUresult real = [] {
        unsigned char bytes[FAKE_MAX_RESULT] = {};
        const fake_control &fake = *fake_control_of(good_driver());
        for (unsigned int row = 0; row < fake.row_count; ++row) {
            if (std::string(fake.name(row)) == "cuCtxSynchronize") {
                fake.answer(row, bytes);
            }
        }
        CUresult result;
        static_assert(sizeof result <= sizeof bytes);
        std::memcpy(&result, bytes, sizeof result);
        return result;
    }();
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i) {
        callers.emplace_back([&] {
            while (!stop) {
                const CUresult result = cushim::driver().cuCtxSynchronize_v1();
                if (result != real && result != own) {
                    ++strange;
                }
            }
        });
    }
    for (int round = 0; round < 2000; ++round) {
        const cushim::ScopedOverride<entry::cuCtxSynchronize_v1> scope(
            [] { return CUDA_ERROR_NO_DEVICE; });
        if (cushim::driver().cuCtxSynchronize_v1() != own) {
            ++strange;
        }
    }
    stop = true;
    for (std::thread &caller : callers) {
        caller.join();
    }
    CHECK(strange == 0);
    CHECK(cushim::driver().cuCtxSynchronize_v1() == real);
}
