// The first use is in an atexit handler, after main has returned.
#include "first_use.hpp"

namespace {

void at_exit() {
    expect_not_tried();
    expect_answer(cushim::driver().cuInit(0));
    expect_answer(cushim::runtime().cudaDeviceSynchronize());
    expect_states();
    if (failures != 0) {
        _Exit(1);
    }
}

} // namespace

int main() {
    EXPECT_INT(atexit(at_exit), 0);
    expect_not_tried();
    return finish();
}
