#include <cushim/external_memory.hpp>

#include "base/call.hpp"
#include "context/requirements.hpp"
#include "external_descriptions.hpp"
#include "external_handles.hpp"
#include "memory/memory_state.hpp"

namespace cushim {
namespace {

using detail::Destroyed;

struct ExternalMemoryState final : detail::InContext {
    using InContext::InContext;
    Destroyed destroy() noexcept override {
        return CUSHIM_DESTROY(cuDestroyExternalMemory, memory, memory);
    }
    CUexternalMemory memory = nullptr;
    // For a dma-buf, lives as long as the import: CUDA does not document whether it takes
    // ownership.
    UniqueFd original;
    detail::LentDescriptor lent;
};

// Memory mapped from an import owns the import, and thereby the context.
struct FromImport : detail::PlainMemoryState {
    FromImport(const ExternalMemory &from, CUcontext in) noexcept
        : PlainMemoryState(Context::borrow(in)), import(from) {
        device_ordinal = detail::ordinal_of(from);
    }
    bool is_gone() const noexcept override {
        return PlainMemoryState::is_gone() || import.is_gone();
    }
    const detail::KeepAlive import;
};

struct ExternalBufferState final : FromImport {
    using FromImport::FromImport;
    Destroyed free() noexcept override { return CUSHIM_DESTROY(cuMemFree, address, address); }
    CUdeviceptr address = 0;
};

struct ExternalArrayState final : FromImport {
    using FromImport::FromImport;
    Destroyed free() noexcept override {
        return CUSHIM_DESTROY(cuMipmappedArrayDestroy, array, array);
    }
    CUmipmappedArray array = nullptr;
};

constexpr const char *empty = "the external memory is empty";

// --- imports, by the form of the handle

using Description = CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
using NewImport = detail::NewState<ExternalMemoryState>;
using Import = Result<void>(NewImport &, ExternalMemorySource &, Description &);

// Takes the descriptor from the source if CUDA accepts it.
Result<void> import_descriptor(NewImport &state, ExternalMemorySource &source,
                               Description &description) {
    const bool is_dma_buf = source.type() == ExternalMemorySource::dma_buf_type;
    if (is_dma_buf) {
        CUSHIM_TRY_VOID(detail::require_feature(Feature::external_dma_buf));
    }
    CUSHIM_TRY(detail::LentDescriptor lent, detail::LentDescriptor::of(source.fd()));
    description.handle.fd = lent.get();
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuImportExternalMemory, &state->memory, &description));
    UniqueFd original = source.take_fd();
    if (is_dma_buf) {
        state->lent = static_cast<detail::LentDescriptor &&>(lent);
        state->original = static_cast<UniqueFd &&>(original);
    } else {
        lent.taken();
    }
    return {};
}

Result<void> import_handle(NewImport &state, ExternalMemorySource &, Description &description) {
    return CUSHIM_DRIVER(cuImportExternalMemory, &state->memory, &description);
}

// Fails with invalid_argument for a source that no driver accepts.
Result<Import *> import_of(const ExternalMemorySource &source) noexcept {
    const CUexternalMemoryHandleType type = source.type();
    if (type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
        type == ExternalMemorySource::dma_buf_type) {
        CUSHIM_TRY_VOID(detail::check_descriptor(source.fd().get()));
        return import_descriptor;
    }
    if (type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF) {
        CUSHIM_TRY_VOID(detail::check_win32(source.win32()));
    } else if (source.nvsci_object() == nullptr) {
        return Error::invalid_argument("the NvSciBufObj is null");
    }
    return import_handle;
}

} // namespace

// --- the import

Result<ExternalMemory> ExternalMemory::import_from(const Context &context,
                                                   ExternalMemorySource &&source,
                                                   std::size_t size) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (size == 0) {
        return Error::invalid_argument("ExternalMemory::import_from: the size is 0");
    }
    CUSHIM_TRY(Import *const import, import_of(source));
    CUSHIM_TRY(auto state, detail::make_state<ExternalMemoryState>(context));
    CUSHIM_TRY(const ContextScope scope, state->enter());
    Description description = detail::description_of(source, size);
    CUSHIM_TRY_VOID(import(state, source, description));
    const CUexternalMemory memory = state->memory;
    return ExternalMemory({memory, context.native(), size}, state.take());
}

Result<ExternalMemory> ExternalMemory::adopt(const Context &context, CUexternalMemory memory,
                                             std::size_t size) noexcept {
    CUSHIM_TRY_VOID(detail::require(context, "the context is empty"));
    if (memory == nullptr || size == 0) {
        return detail::invalid_argument(
            "ExternalMemory::adopt: handle %p and size %zu must not be 0",
            static_cast<void *>(memory), size);
    }
    CUSHIM_TRY(auto state, detail::make_state<ExternalMemoryState>(context));
    state->memory = memory;
    return ExternalMemory({memory, context.native(), size}, state.take());
}

ExternalMemory ExternalMemory::borrow(const Context &context, CUexternalMemory memory,
                                      std::size_t size) noexcept {
    return ExternalMemory({memory, context.native(), size}, nullptr);
}

// --- mappings

Result<ExternalBuffer> ExternalMemory::map_buffer(std::size_t offset,
                                                  std::size_t size) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    CUSHIM_TRY_VOID(detail::check_range(offset, size, this->size()));
    if (size == 0) {
        return ExternalBuffer();
    }
    CUSHIM_TRY(auto state, detail::make_state<ExternalBufferState>(*this, value().context));
    CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
    description.offset = offset;
    description.size = size;
    CUSHIM_TRY_VOID(
        CUSHIM_DRIVER(cuExternalMemoryGetMappedBuffer, &state->address, native(), &description));
    const CUdeviceptr address = state->address;
    return ExternalBuffer({address, size}, state.take());
}

Result<ExternalMipmappedArray>
ExternalMemory::map_mipmapped(std::size_t offset, const CUDA_ARRAY3D_DESCRIPTOR &description,
                              unsigned int levels) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, empty));
    if (offset >= size()) {
        return detail::invalid_argument("map_mipmapped: offset %zu exceeds the size, %zu", offset,
                                        size());
    }
    if (levels == 0 || description.Width == 0) {
        return detail::invalid_argument(
            "map_mipmapped: number of levels %u and width %zu must not be 0", levels,
            description.Width);
    }
    CUSHIM_TRY(auto state, detail::make_state<ExternalArrayState>(*this, value().context));
    CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image{};
    image.offset = offset;
    image.arrayDesc = description;
    image.numLevels = levels;
    CUSHIM_TRY_VOID(
        CUSHIM_DRIVER(cuExternalMemoryGetMappedMipmappedArray, &state->array, native(), &image));
    const CUmipmappedArray array = state->array;
    return ExternalMipmappedArray({array, value().context, levels}, state.take());
}

Result<void> ExternalBuffer::release_after(const Stream &stream) const noexcept {
    return detail::release_memory_after(*this, stream);
}

Result<void> ExternalMipmappedArray::release_after(const Stream &stream) const noexcept {
    return detail::release_memory_after(*this, stream);
}

Result<CUarray> ExternalMipmappedArray::level(unsigned int index) const noexcept {
    CUSHIM_TRY_VOID(detail::require(*this, "the mipmapped array is empty"));
    if (index >= levels()) {
        return detail::invalid_argument("level %u is out of range; the number of levels is %u",
                                        index, levels());
    }
    CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
    CUarray level = nullptr;
    CUSHIM_TRY_VOID(CUSHIM_DRIVER(cuMipmappedArrayGetLevel, &level, native(), index));
    return level;
}

} // namespace cushim
