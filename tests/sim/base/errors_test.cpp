// Names and descriptions of status codes.
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

TEST_CASE("every status code has a name, also before cuInit", "[fresh]") {
    for (const Known &one : known) {
        const char *name = nullptr;
        REQUIRE(got(d.cuGetErrorName(one.code, &name), name) != nullptr);
        CHECK(std::string(name) == one.name);
    }
}

TEST_CASE("every status code has a description that differs from its name") {
    for (const Known &one : known) {
        const char *words = nullptr;
        REQUIRE(got(d.cuGetErrorString(one.code, &words), words) != nullptr);
        CHECK(std::string(words) != "");
        CHECK(std::string(words) != one.name);
    }
}

TEST_CASE("the driver and the runtime describe a status code alike") {
    const auto words = [](int code) {
        const char *text = nullptr;
        CHECK(d.cuGetErrorString(static_cast<CUresult>(code), &text) == good);
        return std::string(text != nullptr ? text : "");
    };
    CHECK(words(invalid) == "invalid argument");
    CHECK(words(CUDA_ERROR_CONTEXT_IS_DESTROYED) == "context is destroyed");
    CHECK(words(CUDA_ERROR_CONTEXT_ALREADY_CURRENT) == "context already current");
}

TEST_CASE("an unknown status code has no name and no description") {
    for (const int code : {999999, -1, 9999, 35}) {
        const char *text = "before";
        CHECK(d.cuGetErrorName(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
        text = "before";
        CHECK(d.cuGetErrorString(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
    }
}

TEST_CASE("looking up a status code with a null output pointer fails") {
    CHECK(d.cuGetErrorName(good, nullptr) == invalid);
    CHECK(d.cuGetErrorString(good, nullptr) == invalid);
}
