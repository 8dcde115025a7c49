// Names and words of status codes.
#include "handles.hpp"

using namespace sim_test;

namespace {

// As the headers spell them; the driver knows all of them.
struct Known {
    CUresult code;
    const char *name;
};
constexpr Known known[] = {
    {good, "CUDA_SUCCESS"},
    {invalid, "CUDA_ERROR_INVALID_VALUE"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"},
    {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
};

} // namespace

TEST_CASE("every code has its name, before cuInit too", "[fresh]") {
    for (const Known &one : known) {
        const char *name = nullptr;
        REQUIRE(got(d.cuGetErrorName(one.code, &name), name) != nullptr);
        CHECK(std::string(name) == one.name);
    }
}

TEST_CASE("every code has words, which are not its name") {
    for (const Known &one : known) {
        const char *words = nullptr;
        REQUIRE(got(d.cuGetErrorString(one.code, &words), words) != nullptr);
        CHECK(std::string(words) != "");
        CHECK(std::string(words) != one.name);
    }
}

TEST_CASE("the words are those of the runtime, where it knows the code") {
    const auto words = [](int code) {
        const char *text = nullptr;
        CHECK(d.cuGetErrorString(static_cast<CUresult>(code), &text) == good);
        return std::string(text != nullptr ? text : "");
    };
    CHECK(words(invalid) == "invalid argument");
    CHECK(words(CUDA_ERROR_CONTEXT_IS_DESTROYED) == "context is destroyed");
    CHECK(words(CUDA_ERROR_CONTEXT_ALREADY_CURRENT) == "context already current");
}

TEST_CASE("unknown codes are refused, with a null string") {
    for (const int code : {999999, -1, 9999, 35}) {
        const char *text = "before";
        CHECK(d.cuGetErrorName(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
        text = "before";
        CHECK(d.cuGetErrorString(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
    }
}

TEST_CASE("a null place for the text is refused") {
    CHECK(d.cuGetErrorName(good, nullptr) == invalid);
    CHECK(d.cuGetErrorString(good, nullptr) == invalid);
}
