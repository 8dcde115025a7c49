// Every wrapper's error names the function that the program called.
#include "errors/failures.hpp"

#include "harness/scenario.hpp"
#include "harness/simulator.hpp"
#include "public_types.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

using namespace api_test;

namespace {

#define FUNCTION(name) #name,
const std::set<std::string> public_functions{PUBLIC_FUNCTIONS(FUNCTION)};

// Functions without a row.
const std::set<std::string> exceptions{
    // The driver is loaded: tests/nodriver.
    "load",
    "load_driver",
    "load_runtime",
    "try_driver",
    "try_runtime",
    // Called by Context::enter(), which has a row.
    "ContextScope::enter",
    // Deleted.
    "AnyKernel::close",
    // Not members: host code cannot use the memory, or the elements have rows.
    "DeviceBuffer::synchronized_span",
    "GrowableBuffer::synchronized_span",
    "PitchedBuffer::synchronized_span",
    "PoolBuffer::synchronized_span",
    "PitchedBuffer::to_vector",
    // Fail only if the host's memory is exhausted.
    "HostMappedBuffer::to_vector",
    "HostRegistration::to_vector",
    "ManagedBuffer::to_vector",
    "PinnedBuffer::to_vector",
};

} // namespace

TEST_CASE("an error names the public function that failed", "[errors][current]") {
    need_simulator("the messages have the simulated devices' limits");
    need_cuda(13, 0); // earlier headers lack functions, whose errors say so
    Failures failures;
    expect_context_failures(failures);
    expect_kernel_failures(failures);
    expect_memory_failures(failures);
    expect_interop_failures(failures);
    expect_graph_failures(failures);
    std::vector<std::string> not_called, unknown;
    std::ranges::set_difference(public_functions, failures.functions,
                                std::back_inserter(not_called));
    std::erase_if(not_called, [](const std::string &name) { return exceptions.contains(name); });
    std::ranges::set_difference(failures.functions, public_functions, std::back_inserter(unknown));
    CHECK(not_called == std::vector<std::string>());
    CHECK(unknown == std::vector<std::string>());
}
