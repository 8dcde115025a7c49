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
namespace {

using detail::enum_text;

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

const char *name_of(AccessFlags flags) noexcept {
    using Enum = AccessFlags;
    switch (flags) {
        CUSHIM_NAME(none);
        CUSHIM_NAME(read);
        CUSHIM_NAME(read_write);
    }
    return nullptr;
}

const char *name_of(Api api) noexcept {
    using Enum = Api;
    switch (api) {
        CUSHIM_NAME(loader);
        CUSHIM_NAME(driver);
        CUSHIM_NAME(runtime);
        CUSHIM_NAME(library);
    }
    return nullptr;
}

const char *name_of(CaptureMode mode) noexcept {
    using Enum = CaptureMode;
    switch (mode) {
        CUSHIM_NAME(global);
        CUSHIM_NAME(per_thread);
        CUSHIM_NAME(relaxed);
    }
    return nullptr;
}

const char *name_of(CaptureStatus status) noexcept {
    using Enum = CaptureStatus;
    switch (status) {
        CUSHIM_NAME(none);
        CUSHIM_NAME(active);
        CUSHIM_NAME(invalidated);
    }
    return nullptr;
}

const char *name_of(GraphConditionalType type) noexcept {
    using Enum = GraphConditionalType;
    switch (type) {
        CUSHIM_NAME(if_);
        CUSHIM_NAME(while_);
        CUSHIM_NAME(switch_);
    }
    return nullptr;
}

const char *name_of(GraphNodeType type) noexcept {
    using Enum = GraphNodeType;
    switch (type) {
        CUSHIM_NAME(kernel);
        CUSHIM_NAME(memcpy);
        CUSHIM_NAME(memset);
        CUSHIM_NAME(host);
        CUSHIM_NAME(child_graph);
        CUSHIM_NAME(empty);
        CUSHIM_NAME(event_wait);
        CUSHIM_NAME(event_record);
        CUSHIM_NAME(semaphore_signal);
        CUSHIM_NAME(semaphore_wait);
        CUSHIM_NAME(mem_alloc);
        CUSHIM_NAME(mem_free);
        CUSHIM_NAME(batch_mem_op);
        CUSHIM_NAME(conditional);
    }
    return nullptr;
}

const char *name_of(GraphUpdateResult result) noexcept {
    using Enum = GraphUpdateResult;
    switch (result) {
        CUSHIM_NAME(success);
        CUSHIM_NAME(error);
        CUSHIM_NAME(topology_changed);
        CUSHIM_NAME(node_type_changed);
        CUSHIM_NAME(function_changed);
        CUSHIM_NAME(parameters_changed);
        CUSHIM_NAME(not_supported);
        CUSHIM_NAME(unsupported_function_change);
        CUSHIM_NAME(attributes_changed);
    }
    return nullptr;
}

const char *name_of(InstantiateResult result) noexcept {
    using Enum = InstantiateResult;
    switch (result) {
        CUSHIM_NAME(success);
        CUSHIM_NAME(error);
        CUSHIM_NAME(invalid_structure);
        CUSHIM_NAME(node_operation_not_supported);
        CUSHIM_NAME(multiple_contexts);
        CUSHIM_NAME(conditional_handle_unused);
    }
    return nullptr;
}

const char *name_of(ManagedAttachment attachment) noexcept {
    using Enum = ManagedAttachment;
    switch (attachment) {
        CUSHIM_NAME(global);
        CUSHIM_NAME(host);
        CUSHIM_NAME(single);
    }
    return nullptr;
}

} // namespace

// --- enums

Text to_text(AccessFlags flags) noexcept {
    return enum_text("AccessFlags", name_of(flags), flags);
}

Text to_text(Api api) noexcept {
    return enum_text("Api", name_of(api), api);
}

Text to_text(CaptureMode mode) noexcept {
    return enum_text("CaptureMode", name_of(mode), mode);
}

Text to_text(CaptureStatus status) noexcept {
    return enum_text("CaptureStatus", name_of(status), status);
}

Text to_text(ErrorKind kind) noexcept {
    return enum_text("ErrorKind", kind <= ErrorKind::status ? name(kind) : nullptr, kind);
}

Text to_text(Feature feature) noexcept {
    const bool is_one = static_cast<int>(feature) < feature_count;
    return enum_text("Feature", is_one ? name(feature) : nullptr, feature);
}

Text to_text(GraphConditionalType type) noexcept {
    return enum_text("GraphConditionalType", name_of(type), type);
}

Text to_text(GraphNodeType type) noexcept {
    return enum_text("GraphNodeType", name_of(type), type);
}

Text to_text(GraphUpdateResult result) noexcept {
    return enum_text("GraphUpdateResult", name_of(result), result);
}

Text to_text(InstantiateResult result) noexcept {
    return enum_text("InstantiateResult", name_of(result), result);
}

Text to_text(ManagedAttachment attachment) noexcept {
    return enum_text("ManagedAttachment", name_of(attachment), attachment);
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
    return detail::text_of("Stream", stream);
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
                  detail::number_of(node.native()));
    return text;
}

Text to_text(const UniqueFd &descriptor) noexcept {
    return descriptor ? number_text("UniqueFd", descriptor.get()) : empty_text("UniqueFd");
}

} // namespace cushim
