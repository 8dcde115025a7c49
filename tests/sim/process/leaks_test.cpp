// The leak report for calls that create no object and were not undone.
#include "../support/contains.hpp"
#include "vmm_ranges.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

using namespace sim_test;
using support::contains;

namespace {

// The only leak, or "".
std::string leak() {
    const auto lines = leaks();
    CHECK(lines.size() <= 1);
    return lines.empty() ? "" : lines.front();
}

} // namespace

TEST_CASE("a primary context is a leak until each retain is released") {
    start("devices=2");
    retain_primary(1);
    CHECK(contains(leak(),
                   "primary context of device 1 retained by cuDevicePrimaryCtxRetain in call "));
    retain_primary(1);
    const auto two = leaks();
    REQUIRE(two.size() == 2);
    CHECK(two[0] != two[1]); // another call
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak() == two[0]);
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak().empty());
}

TEST_CASE("a reset primary context is not a leak") {
    start("devices=2");
    retain_primary(1);
    ok(driver().cuDevicePrimaryCtxReset(1));
    CHECK(leak().empty());
}

TEST_CASE("a primary context retained by the runtime is not a leak", "[fresh]") {
    require_ok(runtime().cudaFree(nullptr));
    unsigned int flags = 0;
    CHECK(got<int>(&Driver::cuDevicePrimaryCtxGetState, 0, &flags, out) == 1);
    CHECK(leak().empty());
}

TEST_CASE("a pushed context is a leak until it is popped") {
    const CUcontext context = current();
    require_ok(driver().cuCtxPushCurrent(context));
    CHECK(contains(leak(), "of device 0 pushed by cuCtxPushCurrent"));
    ok(driver().cuCtxSetCurrent(context)); // replaces it
    CHECK(contains(leak(), "pushed by cuCtxPushCurrent"));
    pop_current();
    CHECK(leak().empty());
    require_ok(driver().cuCtxPushCurrent(context));
    ok(driver().cuCtxSetCurrent(nullptr)); // pops it
    CHECK(leak().empty());
}

TEST_CASE("a destroyed context is no longer reported as pushed") {
    const CUcontext context = make_context();
    pop_current();
    require_ok(driver().cuCtxPushCurrent(context));
    CHECK(leaks().size() == 2); // and the context itself
    destroy(context);
    CHECK(leak().empty());
    // A context that becomes current later was not pushed.
    const CUcontext other = make_context();
    CHECK(contains(leak(), "context"));
    destroy(other);
}

TEST_CASE("peer access is a leak until it is disabled or a context is released") {
    start("devices=2");
    const CUcontext other = retain_primary(1);
    require_ok(driver().cuCtxEnablePeerAccess(other, 0));
    REQUIRE(leaks().size() == 2);
    CHECK(contains(leaks()[1], "of device 1 enabled by cuCtxEnablePeerAccess in call "));
    ok(driver().cuCtxDisablePeerAccess(other));
    CHECK(leaks().size() == 1);
    require_ok(driver().cuCtxEnablePeerAccess(other, 0));
    ok(driver().cuDevicePrimaryCtxRelease(1));
    CHECK(leak().empty());
}

#ifndef _WIN32
TEST_CASE("an exported descriptor is a leak until it is closed") {
    const int descriptor = export_fd(PhysicalMemory(G, exportable()));
    CHECK(contains(leak(), "open descriptor " + std::to_string(descriptor) +
                               " exported by cuMemExportToShareableHandle in call "));
    close(descriptor);
    CHECK(leak().empty());
    // Another file may get the same number.
    REQUIRE(dup2(0, descriptor) == descriptor);
    CHECK(leak().empty());
    close(descriptor);
}
#endif
