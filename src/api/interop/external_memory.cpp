#include <cushim/external_memory.hpp>

#include "base/call.hpp"
#include "context/adopting.hpp"
#include "context/on_device.hpp"
#include "context/requirements.hpp"
#include "external_descriptions.hpp"
#include "external_handles.hpp"
#include "memory/memory_state.hpp"

namespace cushim {

using namespace detail;

namespace {

struct ExternalMemoryState final : InContext {
    using InContext::InContext;
    Destroyed destroy() noexcept override {
        return {call<entry::cuDestroyExternalMemory>(memory), memory};
    }
    CUexternalMemory memory = nullptr;
    // For a dma-buf, lives as long as the import: CUDA does not document whether it takes
    // ownership.
    UniqueFd original;
    LentDescriptor lent;
};

// Memory mapped from an import owns the import, and thereby the context.
struct FromImport : FreedInContext {
    FromImport(const ExternalMemory &from, CUcontext in) noexcept
        : FreedInContext(Context::borrow(in)), import(from) {
        device_ordinal = ordinal_of(from);
    }
    bool is_gone() const noexcept override { return FreedInContext::is_gone() || import.is_gone(); }
    const KeepAlive import;
};

struct ExternalBufferState final : FromImport {
    using FromImport::FromImport;
    Destroyed free() noexcept override { return {call<entry::cuMemFree>(address), address}; }
    CUdeviceptr address = 0;
};

struct ExternalArrayState final : FromImport {
    using FromImport::FromImport;
    Destroyed free() noexcept override {
        return {call<entry::cuMipmappedArrayDestroy>(array), array};
    }
    CUmipmappedArray array = nullptr;
};

constexpr const char *empty = "the ExternalMemory is empty";

// --- imports, by the form of the handle

using Description = CUDA_EXTERNAL_MEMORY_HANDLE_DESC;
using NewImport = NewState<ExternalMemoryState>;
using Import = Result<void>(NewImport &, ExternalMemorySource &, Description &);

// The function of ExternalMemorySource.
const char *source_of(CUexternalMemoryHandleType type) noexcept {
    constexpr const char *functions[] = {
        "",           "opaque_fd",      "opaque_win32",   "opaque_win32_kmt",
        "d3d12_heap", "d3d12_resource", "d3d11_resource", "d3d11_resource_kmt",
        "nvscibuf",   "dma_buf"};
    return functions[type];
}

// Adds what was passed to the call.
Error not_imported(const Error &error, const Description &description) noexcept {
    const char *const source = source_of(description.type);
    switch (error.status()) {
    case CUDA_ERROR_NOT_SUPPORTED:
        return explained(error, "%s does not support ExternalMemorySource::%s",
                         current_device_text().c_str(), source);
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_HANDLE:
    case CUDA_ERROR_UNKNOWN:
        return explained(
            error,
            "CUDA rejected the handle of ExternalMemorySource::%s, size %llu byte%s; it must be "
            "memory of that kind and size, exported from the device of the context",
            source, description.size, plural(description.size));
    default:
        return explained(
            error, "the memory of ExternalMemorySource::%s, size %llu byte%s, was not imported",
            source, description.size, plural(description.size));
    }
}

Result<void> import(NewImport &state, const Description &description) noexcept {
    const Result<void> imported = call<entry::cuImportExternalMemory>(&state->memory, &description);
    return imported ? imported : not_imported(imported.error(), description);
}

constexpr const char *without_descriptors =
    "file descriptors are not supported on Windows; use ExternalMemorySource::opaque_win32()";

// Takes the descriptor from the source if CUDA accepts it.
Result<void> import_descriptor(NewImport &state, ExternalMemorySource &source,
                               Description &description) {
    const bool is_dma_buf = source.type() == ExternalMemorySource::dma_buf_type;
    if (is_dma_buf) {
        CUSHIM_TRY_VOID(require_feature(Feature::external_dma_buf));
    }
    CUSHIM_TRY(LentDescriptor lent, LentDescriptor::of(source.fd(), without_descriptors));
    description.handle.fd = lent.get();
    CUSHIM_TRY_VOID(import(state, description));
    UniqueFd original = source.take_fd();
    if (is_dma_buf) {
        state->lent = static_cast<LentDescriptor &&>(lent);
        state->original = static_cast<UniqueFd &&>(original);
    } else {
        lent.taken();
    }
    return {};
}

Result<void> import_handle(NewImport &state, ExternalMemorySource &, Description &description) {
    return import(state, description);
}

// Fails with invalid_argument for a source that no driver accepts.
Result<Import *> import_of(const ExternalMemorySource &source) noexcept {
    const CUexternalMemoryHandleType type = source.type();
    if (type == CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD ||
        type == ExternalMemorySource::dma_buf_type) {
        CUSHIM_TRY_VOID(check_fd(source.fd(), without_descriptors));
        return import_descriptor;
    }
    if (type != CU_EXTERNAL_MEMORY_HANDLE_TYPE_NVSCIBUF) {
        CUSHIM_TRY_VOID(check_win32(source.win32(),
                                    "Windows handles are not supported on this platform; use "
                                    "ExternalMemorySource::opaque_fd()"));
    } else if (source.nvsci_object() == nullptr) {
        return Error::invalid_argument("the NvSciBufObj is null");
    }
    return import_handle;
}

// CUDA does not say which member of the description is wrong, so the message lists them all.
Error array_not_mapped(const Error &error, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC &image,
                       std::size_t size) noexcept {
    const CUDA_ARRAY3D_DESCRIPTOR &array = image.arrayDesc;
    const unsigned int channels = array.NumChannels;
    if (error.status() == CUDA_ERROR_INVALID_VALUE && channels != 1 && channels != 2 &&
        channels != 4) {
        return explained(error, "NumChannels is %u, expected 1, 2 or 4", channels);
    }
    return explained(
        error,
        "the array could not be mapped: width %zu, height %zu, depth %zu, channels %u, levels %u, "
        "offset %llu, size of the import %zu byte%s",
        array.Width, array.Height, array.Depth, channels, image.numLevels, image.offset, size,
        plural(size));
}

} // namespace

// --- the import

Result<ExternalMemory> ExternalMemory::import_from(const Context &context,
                                                   ExternalMemorySource &&source,
                                                   std::size_t size) noexcept {
    return named("ExternalMemory::import_from", [&]() -> Result<ExternalMemory> {
        CUSHIM_TRY_VOID(require(context, "the Context is empty"));
        if (size == 0) {
            return Error::invalid_argument(
                "the size is 0; pass the size of the whole memory object");
        }
        CUSHIM_TRY(Import *const import_source, import_of(source));
        CUSHIM_TRY(auto state, make_state<ExternalMemoryState>(context));
        CUSHIM_TRY(const ContextScope scope, state->enter());
        Description description = description_of(source, size);
        CUSHIM_TRY_VOID(import_source(state, source, description));
        const CUexternalMemory memory = state->memory;
        return ExternalMemory({memory, context.native(), size}, state.take());
    });
}

Result<ExternalMemory> ExternalMemory::adopt(const Context &context, CUexternalMemory memory,
                                             std::size_t size) noexcept {
    return named("ExternalMemory::adopt", [&]() -> Result<ExternalMemory> {
        CUSHIM_TRY_VOID(require_handle_in(context, memory));
        if (size == 0) {
            return Error::invalid_argument("the size is 0; pass the size that the import had");
        }
        CUSHIM_TRY(auto state, make_state<ExternalMemoryState>(context));
        state->memory = memory;
        return ExternalMemory({memory, context.native(), size}, state.take());
    });
}

// --- mappings

Result<ExternalBuffer> ExternalMemory::map_buffer(std::size_t offset,
                                                  std::size_t size) const noexcept {
    return named("ExternalMemory::map_buffer", [&]() -> Result<ExternalBuffer> {
        CUSHIM_TRY_VOID(require(*this, empty));
        if (offset > this->size() || size > this->size() - offset) {
            return invalid_argument("range [%zu, %zu) exceeds the imported memory of %zu byte%s",
                                    offset, end_of(offset, size), this->size(),
                                    plural(this->size()));
        }
        if (size == 0) {
            return ExternalBuffer();
        }
        CUSHIM_TRY(auto state, make_state<ExternalBufferState>(*this, value().context));
        CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
        CUDA_EXTERNAL_MEMORY_BUFFER_DESC description{};
        description.offset = offset;
        description.size = size;
        const Result<void> mapped =
            call<entry::cuExternalMemoryGetMappedBuffer>(&state->address, native(), &description);
        if (!mapped) {
            return explained(
                mapped.error(),
                "range [%zu, %zu) of the import of %zu byte%s could not be mapped%s", offset,
                offset + size, this->size(), plural(this->size()),
                mapped.error().status() == CUDA_ERROR_INVALID_VALUE
                    ? "; the exported memory may be smaller than the import; import it with its "
                      "actual size"
                    : "");
        }
        const CUdeviceptr address = state->address;
        return ExternalBuffer({address, size}, state.take());
    });
}

Result<ExternalMipmappedArray>
ExternalMemory::map_mipmapped(std::size_t offset, const CUDA_ARRAY3D_DESCRIPTOR &description,
                              unsigned int levels) const noexcept {
    return named("ExternalMemory::map_mipmapped", [&]() -> Result<ExternalMipmappedArray> {
        CUSHIM_TRY_VOID(require(*this, empty));
        if (offset >= size()) {
            return invalid_argument("offset %zu exceeds the imported memory of %zu byte%s", offset,
                                    size(), plural(size()));
        }
        if (levels == 0) {
            return Error::invalid_argument("the number of levels is 0, minimum 1");
        }
        if (description.Width == 0) {
            return Error::invalid_argument("the width of the array is 0");
        }
        CUSHIM_TRY(auto state, make_state<ExternalArrayState>(*this, value().context));
        CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
        CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC image{};
        image.offset = offset;
        image.arrayDesc = description;
        image.numLevels = levels;
        const Result<void> mapped =
            call<entry::cuExternalMemoryGetMappedMipmappedArray>(&state->array, native(), &image);
        if (!mapped) {
            return array_not_mapped(mapped.error(), image, size());
        }
        const CUmipmappedArray array = state->array;
        return ExternalMipmappedArray({array, value().context, levels}, state.take());
    });
}

Result<void> ExternalBuffer::release_after(const Stream &stream) const noexcept {
    return named("ExternalBuffer::release_after", release_memory_after(*this, stream));
}

Result<void> ExternalMipmappedArray::release_after(const Stream &stream) const noexcept {
    return named("ExternalMipmappedArray::release_after", release_memory_after(*this, stream));
}

Result<CUarray> ExternalMipmappedArray::level(unsigned int index) const noexcept {
    return named("ExternalMipmappedArray::level", [&]() -> Result<CUarray> {
        CUSHIM_TRY_VOID(require(*this, "the ExternalMipmappedArray is empty"));
        if (index >= levels()) {
            return invalid_argument("level %u is out of range; the number of levels is %u", index,
                                    levels());
        }
        CUSHIM_TRY(const ContextScope scope, ContextScope::enter(value().context));
        CUarray level = nullptr;
        CUSHIM_TRY_VOID(call<entry::cuMipmappedArrayGetLevel>(&level, native(), index));
        return level;
    });
}

} // namespace cushim
