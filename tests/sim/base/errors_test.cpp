// Names and words of status codes.
#include "sim.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace sim_test;

namespace {

// As the headers spell them; the driver knows all of them.
struct Known {
    CUresult code;
    const char *name;
};
constexpr Known known[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

} // namespace

TEST_CASE("every code has its name, before cuInit too", "[errors]") {
    for (const Known &one : known) {
        const char *name = nullptr;
        CHECK(cushim::driver().cuGetErrorName(one.code, &name) == CUDA_SUCCESS);
        REQUIRE(name != nullptr);
        CHECK(std::string(name) == one.name);
    }
}

TEST_CASE("every code has words, which are not its name", "[errors]") {
    for (const Known &one : known) {
        const char *words = nullptr;
        CHECK(cushim::driver().cuGetErrorString(one.code, &words) == CUDA_SUCCESS);
        REQUIRE(words != nullptr);
        CHECK(std::string(words) != "");
        CHECK(std::string(words) != one.name);
    }
}

TEST_CASE("the words are those of the runtime, where it knows the code", "[errors]") {
    const auto words = [](int code) {
        const char *text = nullptr;
        CHECK(cushim::driver().cuGetErrorString(static_cast<CUresult>(code), &text) ==
              CUDA_SUCCESS);
        return std::string(text != nullptr ? text : "");
    };
    CHECK(words(CUDA_ERROR_INVALID_VALUE) == "invalid argument");
    CHECK(words(CUDA_ERROR_CONTEXT_IS_DESTROYED) == "context is destroyed");
    CHECK(words(CUDA_ERROR_CONTEXT_ALREADY_CURRENT) == "context already current");
}

TEST_CASE("unknown codes are refused, with a null string", "[errors]") {
    for (const int code : {999999, -1, 9999, 35}) {
        const char *text = "before";
        CHECK(cushim::driver().cuGetErrorName(static_cast<CUresult>(code), &text) ==
              CUDA_ERROR_INVALID_VALUE);
        CHECK(text == nullptr);
        text = "before";
        CHECK(cushim::driver().cuGetErrorString(static_cast<CUresult>(code), &text) ==
              CUDA_ERROR_INVALID_VALUE);
        CHECK(text == nullptr);
    }
}

TEST_CASE("a null place for the text is refused", "[errors]") {
    CHECK(cushim::driver().cuGetErrorName(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
    CHECK(cushim::driver().cuGetErrorString(CUDA_SUCCESS, nullptr) == CUDA_ERROR_INVALID_VALUE);
}
