// Names and descriptions of status codes.
#include "handles.hpp"

using namespace sim_test;

TEST_CASE("every status code has a name and a description, also before cuInit", "[fresh]") {
    const std::pair<CUresult, std::string> known[] = {
        {CUDA_SUCCESS, "CUDA_SUCCESS"},
        {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"},
        {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY"},
        {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY"},
        {CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"},
        {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN"},
    };
    for (const auto &[code, name] : known) {
        CHECK(got<const char *>(&Driver::cuGetErrorName, code, out) == name);
        const std::string words = got<const char *>(&Driver::cuGetErrorString, code, out);
        CHECK((words != "" && words != name));
    }
}

TEST_CASE("an unknown status code has no name and no description") {
    for (const int code : {-1, 9999, 35}) {
        const char *text = "before";
        CHECK(driver().cuGetErrorName(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
        text = "before";
        CHECK(driver().cuGetErrorString(static_cast<CUresult>(code), &text) == invalid);
        CHECK(text == nullptr);
    }
}
