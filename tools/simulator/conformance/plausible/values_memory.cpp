// Memory, arrays, textures and surfaces.
#include "values.hpp"

#include <cstdlib>
#include <unistd.h>

namespace record::plausible {

CUdeviceptr Values::memory() {
    return once(memory_, [](auto out) {
        const CUresult made = d.cuMemAlloc(out, block);
        d.cuMemsetD8(*out, 0, block);
        d.cuCtxSynchronize();
        return made;
    });
}

CUdeviceptr Values::source() {
    return once(source_, [](auto out) {
        const CUresult made = d.cuMemAlloc(out, block);
        d.cuMemsetD8(*out, 0, block);
        d.cuCtxSynchronize();
        return made;
    });
}

void *Values::host() {
    return once(host_, [](auto out) { return d.cuMemAllocHost(out, block); });
}

void *Values::pageable() {
    return once(pageable_, [](auto out) {
        *out = std::aligned_alloc(4096, block);
        std::memset(*out, 0, block);
        return CUDA_SUCCESS;
    });
}

void *Values::registered() {
    return once(registered_, [](auto out) {
        *out = std::aligned_alloc(4096, block);
        std::memset(*out, 0, block);
        return d.cuMemHostRegister(*out, block, 0);
    });
}

CUdeviceptr Values::managed() {
    return once(managed_,
                [](auto out) { return d.cuMemAllocManaged(out, block, CU_MEM_ATTACH_GLOBAL); });
}

CUmemPoolProps Values::pool_properties(CUmemLocation at) {
    return {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = at};
}

CUmemoryPool Values::pool() {
    return once(pool_, [&](auto out) {
        const CUmemPoolProps properties = pool_properties(here());
        return d.cuMemPoolCreate(out, &properties);
    });
}

int Values::pool_descriptor() {
    int made = -1;
    check(d.cuMemPoolExportToShareableHandle(&made, pool(),
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return made;
}

CUmemoryPool Values::imported_pool() {
    return once(imported_pool_, [&](auto out) {
        void *handle = reinterpret_cast<void *>(std::intptr_t(pool_descriptor()));
        return d.cuMemPoolImportFromShareableHandle(out, handle,
                                                    CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    });
}

CUdeviceptr Values::pool_memory() {
    return once(pool_memory_, [&](auto out) {
        int descriptor = -1; // the pool must be exported before its memory
        d.cuMemPoolExportToShareableHandle(&descriptor, pool(),
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
        close(descriptor);
        const CUresult made = d.cuMemAllocFromPoolAsync(out, block, pool(), stream());
        d.cuStreamSynchronize(stream());
        return made;
    });
}

CUmemAllocationProp Values::physical_properties(CUmemLocation at) {
    return {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
            .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
            .location = at};
}

CUmemGenericAllocationHandle Values::physical() {
    return once(physical_, [&](auto out) {
        const CUmemAllocationProp properties = physical_properties(here());
        return d.cuMemCreate(out, page, &properties, 0);
    });
}

CUdeviceptr Values::reserved() {
    return once(reserved_, [](auto out) { return d.cuMemAddressReserve(out, page, 0, 0, 0); });
}

CUmemAccessDesc Values::access(CUmemLocation at) {
    return {.location = at, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
}

CUdeviceptr Values::mapped() {
    return once(mapped_, [&](auto out) {
        const CUmemAccessDesc all = access(here());
        d.cuMemAddressReserve(out, page, 0, 0, 0);
        d.cuMemMap(*out, page, 0, physical(), 0);
        return d.cuMemSetAccess(*out, page, &all, 1);
    });
}

int Values::descriptor() {
    int made = -1;
    check(d.cuMemExportToShareableHandle(&made, physical(),
                                         CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    return made;
}

CUDA_ARRAY3D_DESCRIPTOR Values::shape() const {
    return {.Width = width,
            .Height = height,
            .Depth = 0,
            .Format = CU_AD_FORMAT_FLOAT,
            .NumChannels = 1,
            .Flags = CUDA_ARRAY3D_SURFACE_LDST};
}

CUarray Values::array() {
    return once(array_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuArray3DCreate(out, &of);
    });
}

CUarray Values::other_array() {
    return once(other_array_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuArray3DCreate(out, &of);
    });
}

CUmipmappedArray Values::levels() {
    return once(levels_, [&](auto out) {
        const CUDA_ARRAY3D_DESCRIPTOR of = shape();
        return d.cuMipmappedArrayCreate(out, &of, 1);
    });
}

CUarray Values::array_with(unsigned int flags) {
    return once(array_with_, [&](auto out) {
        CUDA_ARRAY3D_DESCRIPTOR of = shape();
        of.Width = of.Height = 1024; // several tiles of a sparse array
        of.Flags = flags;
        return d.cuArray3DCreate(out, &of);
    });
}

CUmipmappedArray Values::levels_with(unsigned int flags) {
    return once(levels_with_, [&](auto out) {
        CUDA_ARRAY3D_DESCRIPTOR of = shape();
        of.Width = of.Height = 1024;
        of.Flags = flags;
        return d.cuMipmappedArrayCreate(out, &of, 1);
    });
}

CUDA_RESOURCE_DESC Values::of_array() {
    CUDA_RESOURCE_DESC of{.resType = CU_RESOURCE_TYPE_ARRAY};
    of.res.array.hArray = array();
    return of;
}

CUtexObject Values::texture() {
    return once(texture_, [&](auto out) {
        const CUDA_RESOURCE_DESC of = of_array();
        const CUDA_TEXTURE_DESC sampling{};
        const CUDA_RESOURCE_VIEW_DESC view{
            .format = CU_RES_VIEW_FORMAT_FLOAT_1X32, .width = width, .height = height};
        return d.cuTexObjectCreate(out, &of, &sampling, &view);
    });
}

CUsurfObject Values::surface() {
    return once(surface_, [&](auto out) {
        const CUDA_RESOURCE_DESC of = of_array();
        return d.cuSurfObjectCreate(out, &of);
    });
}

CUtexref Values::texture_reference() {
    return once(texture_reference_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        d.cuTexRefSetArray(*out, array(), CU_TRSA_OVERRIDE_FORMAT);
        return found;
    });
}

CUtexref Values::reference_to_memory() {
    return once(reference_to_memory_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        std::size_t offset = 0;
        d.cuTexRefSetFormat(*out, CU_AD_FORMAT_FLOAT, 1);
        d.cuTexRefSetAddress(&offset, *out, memory(), small);
        return found;
    });
}

CUtexref Values::reference_to_levels() {
    return once(reference_to_levels_, [&](auto out) {
        const CUresult found = d.cuModuleGetTexRef(out, module(), "image");
        d.cuTexRefSetMipmappedArray(*out, levels(), CU_TRSA_OVERRIDE_FORMAT);
        return found;
    });
}

CUtexref Values::created_reference() {
    return once(created_reference_, [](auto out) { return d.cuTexRefCreate(out); });
}

CUsurfref Values::surface_reference() {
    return once(surface_reference_, [&](auto out) {
        const CUresult found = d.cuModuleGetSurfRef(out, module(), "plane");
        d.cuSurfRefSetArray(*out, array(), 0);
        return found;
    });
}

} // namespace record::plausible
