// Errors: names, texts, the thread's last error, and what the driver's statuses are to the runtime.
#include "runtime/base/driver_api.hpp"
#include "runtime/base/error_texts.hpp"
#include "runtime/base/last_error.hpp"

namespace sim::runtime {
namespace {

struct Code {
    int status;
    unsigned short name, words;
};
#include "error_codes.inc"

constexpr const char *unknown_code = "unrecognized error code";

// Where the runtime's number for the same thing is another one, or none.
struct Difference {
    int driver;
    int runtime;
};
constexpr Difference differences[] = {
    {202, cudaErrorUnknown}, // CONTEXT_ALREADY_CURRENT: the runtime knows no such error
};

} // namespace

const char *error_name(int code) noexcept {
    for (const Code &known : runtime_codes) {
        if (known.status == code) {
            return runtime_texts + known.name;
        }
    }
    return nullptr;
}

cudaError_t answer(CUresult status) noexcept {
    for (const Difference &difference : differences) {
        if (difference.driver == static_cast<int>(status)) {
            return static_cast<cudaError_t>(difference.runtime);
        }
    }
    return static_cast<cudaError_t>(status);
}

// --- entry points

const char *cudaGetErrorName(cudaError_t error) {
    const char *name = error_name(static_cast<int>(error));
    return name ? name : unknown_code;
}

const char *cudaGetErrorString(cudaError_t error) {
    const char *text =
        error_name(static_cast<int>(error)) ? error_text(static_cast<int>(error)) : nullptr;
    return text ? text : unknown_code;
}

// Where nothing can work, the reason is the answer, also to a thread that has called nothing yet.
cudaError_t cudaGetLastError() {
    Call::current().keeps_last_error = true;
    const cudaError_t status = last_error();
    clear_last_error();
    return status;
}

cudaError_t cudaPeekAtLastError() {
    Call::current().keeps_last_error = true;
    return last_error();
}

} // namespace sim::runtime
