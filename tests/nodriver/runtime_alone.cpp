// A libcudart that is there, and no driver: what is answered is what is answered without both.
#include <cushim/cushim.hpp>
#include <cushim/loader.h>

#include "expect.h"

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

void check_explanation() {
    EXPECT_INT(cushim_absent_status(CUSHIM_LIBRARY_RUNTIME), cudaErrorInsufficientDriver);
    const auto missing = cushim::runtime().pfn<cushim::entry::cudaMalloc>();
    EXPECT(!missing.has_value());
    EXPECT(missing.error().kind() == cushim::ErrorKind::library_not_found);
    EXPECT(strstr(missing.error().message(), cushim::load_report().driver.explanation) != nullptr);
}

} // namespace

int main() {
    if (cushim_load(CUSHIM_LIBRARY_DRIVER) == CUSHIM_STATE_LOADED)
        return 77; // not on this machine
    EXPECT_INT(cushim_load(CUSHIM_LIBRARY_RUNTIME), CUSHIM_STATE_LOADED);
    check_calls();
    check_explanation();
    return finish();
}
