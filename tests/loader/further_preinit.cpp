// The first use of a further library in .preinit_array, before the C library is initialized. The
// loader then neither searches nor remembers the failure.
#include "further.hpp"

#include "../support/expect.h"

#include <unistd.h>

namespace {

bool had_environment;
int early_status, early_sum = -5;
cushim_state early;

void use_early() {
    had_environment = environ != nullptr;
    early_status = further::add(2, 3, &early_sum);
    early = cushim_load(further::number());
}

__attribute__((section(".preinit_array"), used)) void (*const preinit)() = use_early;

} // namespace

int main() {
    if (had_environment) {
        return 77; // another C library
    }
    EXPECT_INT(early_status, further::absent);
    EXPECT_INT(early_sum, -5);
    EXPECT_INT(early, CUSHIM_STATE_ABSENT);
    EXPECT_INT(cushim_load_report(further::number())->state, CUSHIM_STATE_NOT_TRIED);
    int sum = 0;
    EXPECT_INT(further::add(2, 3, &sum), 7);
    EXPECT_INT(sum, 5);
    return finish();
}
