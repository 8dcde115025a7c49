// init() remembers a success as long as the cuInit that succeeded is the one that calls reach.
#include <cushim/init.hpp>
#include <cushim/override.hpp>

#include "check.hpp"

using cushim::ErrorKind;
using cushim::init;
using Override = cushim::ScopedOverride<cushim::entry::cuInit>;

namespace {

int calls;

CUresult succeed(unsigned int) {
    ++calls;
    return CUDA_SUCCESS;
}
CUresult find_no_device(unsigned int) {
    return CUDA_ERROR_NO_DEVICE;
}

void check_success() {
    const Override scope(succeed);
    calls = 0;
    CHECK(init().has_value());
    CHECK(init().has_value());
    CHECK(calls == 1);
}

void check_failure() {
    const Override scope(find_no_device);
    REQUIRE(!init().has_value());
    CHECK(init().error().kind() == ErrorKind::no_device);
}

} // namespace

TEST_CASE("overrides of cuInit work in any order") {
    check_success();
    check_failure();
    check_success();
    CHECK(init().error().kind() ==
          ErrorKind::library_not_found); // the success ended with its override
}
