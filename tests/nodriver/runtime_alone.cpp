// A libcudart without a driver: the statuses are those without either library.
#include <cushim/entry.hpp>
#include <cushim/loader.h>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

#include "../support/expect.h"

namespace {

void check_calls() {
    const auto cuda = cushim::runtime();
    int count = 77;
    EXPECT_INT(cuda.cudaPeekAtLastError(), cudaSuccess);
    EXPECT_INT(cuda.cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
    EXPECT_INT(count, 0);
    EXPECT_INT(cuda.cudaGetLastError(), cudaErrorInsufficientDriver);
    EXPECT_INT(cuda.cudaGetLastError(), cudaSuccess);
    void *memory = &count;
    EXPECT_INT(cuda.cudaMalloc(&memory, 16), cudaErrorInsufficientDriver);
    EXPECT(memory == &count);
}

// The fake's names and descriptions of errors are its functions' names. It is not used.
void check_texts() {
    const auto cuda = cushim::runtime();
    EXPECT_TEXT(cuda.cudaGetErrorName(cudaErrorInsufficientDriver), "cudaErrorInsufficientDriver");
    EXPECT_TEXT(cuda.cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation");
    EXPECT(strstr(cuda.cudaGetErrorString(cudaErrorInsufficientDriver), "driver") != nullptr);
}

void check_explanation() {
    EXPECT_INT(cushim_absent_status(CUSHIM_LIBRARY_RUNTIME), cudaErrorInsufficientDriver);
    const auto missing = cushim::runtime().pfn<cushim::entry::cudaMalloc>();
    EXPECT(!missing.has_value());
    EXPECT(missing.error().kind() == cushim::ErrorKind::library_not_found);
    EXPECT(strstr(missing.error().message(), cushim::load_report().driver.explanation) != nullptr);
}

template <class T>
void check_loading(const cushim::Result<T> &loaded) {
    EXPECT(!loaded.has_value());
    if (loaded.has_value()) {
        return;
    }
    EXPECT(loaded.error().kind() == cushim::ErrorKind::library_not_found);
    EXPECT_INT(loaded.error().status(), cudaErrorInsufficientDriver);
}

} // namespace

int main() {
    if (cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED) {
        return 77; // not on this machine
    }
    // These report that calls fail; the report still names the loaded file.
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_ABSENT);
    EXPECT_INT(cushim_load_report(CUSHIM_LIBRARY_RUNTIME)->state, CUSHIM_STATE_LOADED);
    check_loading(cushim::load_runtime());
    check_loading(cushim::try_runtime());
    EXPECT(!cushim::is_available<cushim::entry::cudaMalloc>());
    EXPECT_INT(cushim_reload(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_ABSENT);
    check_calls();
    check_texts();
    check_explanation();
    return finish();
}
