// to_text() of enums and owners. Makes no CUDA calls.
#include <cushim/text.hpp>

#include <cushim/access.hpp>
#include <cushim/capture_mode.hpp>
#include <cushim/device.hpp>
#include <cushim/error.hpp>
#include <cushim/feature.hpp>
#include <cushim/graph_exec.hpp>
#include <cushim/graph_node.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>

#include <cstdio>

#include "enum_text.hpp"
#include "state.hpp"

namespace cushim {

using namespace detail;

namespace {

Text empty_text(const char *type) noexcept {
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "%s(empty)", type);
    return text;
}

Text number_text(const char *type, int number) noexcept {
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "%s(%d)", type, number);
    return text;
}

} // namespace

// --- enums

Text to_text(AccessFlags flags) noexcept {
    using enum AccessFlags;
    return enum_text("AccessFlags", flags,
                     {{none, "none"}, {read, "read"}, {read_write, "read_write"}});
}

Text to_text(Api api) noexcept {
    using enum Api;
    return enum_text(
        "Api", api,
        {{loader, "loader"}, {driver, "driver"}, {runtime, "runtime"}, {library, "library"}});
}

Text to_text(CaptureMode mode) noexcept {
    using enum CaptureMode;
    return enum_text("CaptureMode", mode,
                     {{global, "global"}, {per_thread, "per_thread"}, {relaxed, "relaxed"}});
}

Text to_text(CaptureStatus status) noexcept {
    using enum CaptureStatus;
    return enum_text("CaptureStatus", status,
                     {{none, "none"}, {active, "active"}, {invalidated, "invalidated"}});
}

Text to_text(ErrorKind kind) noexcept {
    return kind <= ErrorKind::status ? enum_text("ErrorKind", kind, {{kind, name(kind)}})
                                     : enum_text("ErrorKind", kind, {});
}

Text to_text(Feature feature) noexcept {
    const bool is_one = static_cast<int>(feature) < feature_count;
    return is_one ? enum_text("Feature", feature, {{feature, name(feature)}})
                  : enum_text("Feature", feature, {});
}

Text to_text(GraphConditionalType type) noexcept {
    using enum GraphConditionalType;
    return enum_text("GraphConditionalType", type,
                     {{if_, "if_"}, {while_, "while_"}, {switch_, "switch_"}});
}

Text to_text(GraphNodeType type) noexcept {
    using enum GraphNodeType;
    return enum_text("GraphNodeType", type,
                     {{kernel, "kernel"},
                      {memcpy, "memcpy"},
                      {memset, "memset"},
                      {host, "host"},
                      {child_graph, "child_graph"},
                      {empty, "empty"},
                      {event_wait, "event_wait"},
                      {event_record, "event_record"},
                      {semaphore_signal, "semaphore_signal"},
                      {semaphore_wait, "semaphore_wait"},
                      {mem_alloc, "mem_alloc"},
                      {mem_free, "mem_free"},
                      {batch_mem_op, "batch_mem_op"},
                      {conditional, "conditional"}});
}

Text to_text(GraphUpdateResult result) noexcept {
    using enum GraphUpdateResult;
    return enum_text("GraphUpdateResult", result,
                     {{success, "success"},
                      {error, "error"},
                      {topology_changed, "topology_changed"},
                      {node_type_changed, "node_type_changed"},
                      {function_changed, "function_changed"},
                      {parameters_changed, "parameters_changed"},
                      {not_supported, "not_supported"},
                      {unsupported_function_change, "unsupported_function_change"},
                      {attributes_changed, "attributes_changed"}});
}

Text to_text(InstantiateResult result) noexcept {
    using enum InstantiateResult;
    return enum_text("InstantiateResult", result,
                     {{success, "success"},
                      {error, "error"},
                      {invalid_structure, "invalid_structure"},
                      {node_operation_not_supported, "node_operation_not_supported"},
                      {multiple_contexts, "multiple_contexts"},
                      {conditional_handle_unused, "conditional_handle_unused"}});
}

Text to_text(ManagedAttachment attachment) noexcept {
    using enum ManagedAttachment;
    return enum_text("ManagedAttachment", attachment,
                     {{global, "global"}, {host, "host"}, {single, "single"}});
}

// --- owners and names

namespace detail {

Text owner_text(const char *type, unsigned long long handle, const State *state,
                std::size_t bytes) noexcept {
    if (handle == 0 && state == nullptr) {
        return empty_text(type);
    }
    char device[24] = "";
    if (const int ordinal = ordinal_of(state); ordinal >= 0) {
        std::snprintf(device, sizeof device, ", device %d", ordinal);
    }
    char size[32] = "";
    if (bytes != no_size) {
        std::snprintf(size, sizeof size, ", %zu bytes", bytes);
    }
    const bool owned = state != nullptr && state->owned.load(std::memory_order_relaxed);
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "%s(0x%llx%s%s%s)", type, handle, device,
                  size, owned ? "" : ", borrowed");
    return text;
}

} // namespace detail

Text to_text(const Stream &stream) noexcept {
    if (stream.native() == CU_STREAM_LEGACY) {
        return {"Stream(legacy)"};
    }
    if (stream.native() == CU_STREAM_PER_THREAD) {
        return {"Stream(per_thread)"};
    }
    return text_of("Stream", stream);
}

Text to_text(Device device) noexcept {
    return number_text("Device", device.native());
}

Text to_text(const GraphNode &node) noexcept {
    if (!node) {
        return empty_text("GraphNode");
    }
    Text text;
    std::snprintf(text.characters, sizeof text.characters, "GraphNode(0x%llx)",
                  number_of(node.native()));
    return text;
}

Text to_text(const UniqueFd &descriptor) noexcept {
    return descriptor ? number_text("UniqueFd", descriptor.get()) : empty_text("UniqueFd");
}

} // namespace cushim
