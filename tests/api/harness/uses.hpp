// Uses of every kind of wrapper on one device, each from the factory to the last owner, with checks
// of the results. For tests of leaks and of effects on other devices.
#pragma once

#include "../../support/workplace.hpp"

#include <cushim/device_span.hpp>

#include <span>
#include <vector>

namespace api_test {

using support::Workplace;

struct Use {
    const char *name;
    cushim::Result<void> (*run)(const Workplace &place);
};

std::span<const Use> memory_uses();
std::span<const Use> work_uses();
std::span<const Use> sharing_uses();
std::span<const Use> graph_uses();

std::vector<Use> all_uses();
// The memory uses in a created context. Separate, as making a context on a GPU takes a third of a
// second.
Use own_context_use();

// Whether the error says that the machine lacks a newer CUDA, the runtime library, or a device
// property.
bool is_lack(const cushim::Error &error);

// --- helpers of the uses

// An error with the message `what` unless `holds`.
cushim::Result<void> must(bool holds, const char *what);

// Fails unless the memory is on the device.
cushim::Result<void> must_be_on(const Workplace &place, CUdeviceptr memory);
// Fails unless the stream is in the place's context.
cushim::Result<void> must_be_in(const Workplace &place, const cushim::Stream &stream);

// Fails unless every element is `value`.
cushim::Result<void> must_be_filled(const cushim::Context &context,
                                    cushim::DeviceSpan<const int> memory, int value);

} // namespace api_test
