// A use of every kind of wrapper on one device, each from the factory to the last owner gone: for
// tests of what all of them together leave behind, and of what they must leave alone. What CUDA
// computes is compared.
#pragma once

#include "../../support/workplace.hpp"

#include <cushim/cushim.hpp>

#include <span>
#include <vector>

namespace api_test {

using support::Workplace;

struct Use {
    const char *name;
    cushim::Result<void> (*run)(const Workplace &place);
};

// By topic.
std::span<const Use> memory_uses();
std::span<const Use> work_uses();
std::span<const Use> sharing_uses();
std::span<const Use> graph_uses();

// All of these.
std::vector<Use> all_uses();
// A context of its own, in which some of the same is done: on a real GPU making one takes a third
// of a second.
Use own_context_use();

// Whether it says that this machine lacks something: newer CUDA, the runtime library, or a property
// of the device.
bool is_lack(const cushim::Error &error);

// --- for the uses themselves

// An error that says so, unless it holds.
cushim::Result<void> must(bool holds, const char *what);

// That the memory lies on the device, whatever context was current when it was made.
cushim::Result<void> must_be_on(const Workplace &place, CUdeviceptr memory);
// The same of a stream.
cushim::Result<void> must_be_in(const Workplace &place, const cushim::Stream &stream);

// That every element is `value`.
cushim::Result<void> must_be_filled(const cushim::Context &context,
                                    cushim::DeviceSpan<const int> memory, int value);

} // namespace api_test
