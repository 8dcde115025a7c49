// The first use of every kind is in a static constructor, before main, and the last in a static
// destructor, after it.
#include <cushim/override.hpp>

#include "first_use.hpp"

namespace {

struct Early {
    Early() {
        expect_not_tried();
        expect_answer(cushim::driver().cuInit(0));
        expect_answer(cushim::runtime().cudaDeviceSynchronize());
        expect_states();
        const auto function = cushim::driver().pfn<cushim::entry::cuCtxSynchronize>();
        EXPECT_INT(function.has_value(), with_libraries());
    }

    ~Early() {
        expect_states();
        expect_answer(cushim::driver().cuInit(0));
        // Resolved only now.
        expect_answer(cushim::driver().cuCtxPopCurrent(nullptr));
        expect_answer(cushim::runtime().cudaDeviceReset());
        if (failures != 0) {
            _Exit(1);
        }
    }
};

Early early;

// Overrides also work before main.
CUresult no_device(unsigned int) {
    return CUDA_ERROR_NO_DEVICE;
}
cushim::ScopedOverride<cushim::entry::cuInit> without_device(no_device);

} // namespace

int main() {
    EXPECT_INT(cushim::driver().cuInit(0), CUDA_ERROR_NO_DEVICE);
    expect_states();
    return finish();
}
