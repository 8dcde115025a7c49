/* All of cushim, except for printing.hpp (operator<<, std::formatter). A program that needs one
 * thing includes the header of that thing instead: it is parsed faster. */
#ifndef CUSHIM_CUSHIM_HPP
#define CUSHIM_CUSHIM_HPP

// First: compilers print the way to a header with each error that concerns it.
#include <cushim/result.hpp>

#include <cushim/kernel.hpp>

#include <cushim/access.hpp>
#include <cushim/capture.hpp>
#include <cushim/capture_mode.hpp>
#include <cushim/code.hpp>
#include <cushim/config.h>
#include <cushim/context.hpp>
#include <cushim/copy.hpp>
#include <cushim/copy_2d.hpp>
#include <cushim/device.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/device_span.hpp>
#include <cushim/entry.hpp>
#include <cushim/error.hpp>
#include <cushim/event.hpp>
#include <cushim/exception.hpp>
#include <cushim/export_kinds.hpp>
#include <cushim/external_memory.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/fd_channel.hpp>
#include <cushim/feature.hpp>
#include <cushim/graph.hpp>
#include <cushim/graph_conditional.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/graph_memory.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/handle.hpp>
#include <cushim/host_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_memory.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/init.hpp>
#include <cushim/ipc.hpp>
#include <cushim/launch.hpp>
#include <cushim/library.hpp>
#include <cushim/loader.h>
#include <cushim/loader.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/module.hpp>
#include <cushim/occupancy.hpp>
#include <cushim/override.hpp>
#include <cushim/physical_memory.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pitched_span.hpp>
#include <cushim/runtime_graph.hpp>
#include <cushim/stream.hpp>
#include <cushim/table.hpp>
#include <cushim/teardown.hpp>
#include <cushim/text.hpp>
#include <cushim/try.hpp>
#include <cushim/unique_fd.hpp>
#include <cushim/version.hpp>
#include <cushim/virtual_memory.hpp>
#include <cushim/win32_handle.hpp>

#endif
