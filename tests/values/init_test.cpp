// init() remembers success only for the cuInit that succeeded.
#include <cushim/init.hpp>
#include <cushim/override.hpp>

#include <string_view>

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
CUresult stay_uninitialized(unsigned int) {
    return CUDA_ERROR_NOT_INITIALIZED;
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

TEST_CASE("init() calls an overridden cuInit after success and after failure") {
    check_success();
    check_failure();
    check_success();
    CHECK(init().error().kind() ==
          ErrorKind::library_not_found); // the success is forgotten with its override
}

TEST_CASE("init() blames a fork only in a forked process") {
    const Override scope(stay_uninitialized);
    REQUIRE(!init().has_value());
    CHECK(std::string_view(init().error().message()).find("fork") == std::string_view::npos);
}
