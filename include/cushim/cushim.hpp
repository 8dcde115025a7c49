/* All of cushim, except for what few programs need and takes long to parse:
 *     entry.hpp       entry points as types, for questions about single ones
 *     override.hpp    overrides of entry points, for tests
 *     printing.hpp    operator<<, std::formatter
 * A program that needs one thing includes the header of that thing instead: it is parsed faster. */
#ifndef CUSHIM_CUSHIM_HPP
#define CUSHIM_CUSHIM_HPP

// First: compilers print the path of includes with each error in a header.
#include <cushim/result.hpp>

#include <cushim/kernel.hpp>

// Errors
#include <cushim/driver_log.hpp>
#include <cushim/error.hpp>
#include <cushim/error_hook.hpp>
#include <cushim/exception.hpp>
#include <cushim/text.hpp>
#include <cushim/try.hpp>

// Loading, and calls through the table
#include <cushim/feature.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.h>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>
#include <cushim/version.hpp>

// Ownership
#include <cushim/access.hpp>
#include <cushim/handle.hpp>
#include <cushim/teardown.hpp>

// Devices, contexts, streams and events
#include <cushim/context.hpp>
#include <cushim/device.hpp>
#include <cushim/event.hpp>
#include <cushim/stream.hpp>

// Device memory
#include <cushim/device_buffer.hpp>
#include <cushim/device_span.hpp>
#include <cushim/extent.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pitched_span.hpp>
#include <cushim/pool_buffer.hpp>
#include <cushim/typed_buffer.hpp>

// Host memory
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/pinned_buffer.hpp>

// Virtual memory
#include <cushim/physical_memory.hpp>
#include <cushim/virtual_memory.hpp>

// Copies and fills
#include <cushim/copy.hpp>

// Code and launches
#include <cushim/code.hpp>
#include <cushim/launch.hpp>
#include <cushim/library.hpp>
#include <cushim/module.hpp>
#include <cushim/occupancy.hpp>

// Graphs
#include <cushim/capture.hpp>
#include <cushim/capture_mode.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/graph_memory.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/graph_node_params.hpp>
#include <cushim/runtime_graph.hpp>

// Other processes and other APIs
#include <cushim/export_kinds.hpp>
#include <cushim/external_memory.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/fd_channel.hpp>
#include <cushim/ipc.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/win32_handle.hpp>

#endif
