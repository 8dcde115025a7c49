// Pools of the second device, of the host and of managed memory.
#include "../pools_by_location.hpp"
#include "../../row.hpp"
#include "two_devices.hpp"

namespace record::QUESTIONS::two_devices {

namespace {

void places(const Sides &) {
    for (const int type : {1, 2}) {
        for (const int location : {0, 1, 2, 3, 4}) {
            const Placement place{type, location, 1};
            const Row row("made, default, current, set, set for id 0, node, " + text(place));
            const auto properties = properties_of(place);
            CUmemLocation where = location_of(place);
            const auto allocation = static_cast<CUmemAllocationType>(type);
            CUmemoryPool pool = nullptr, usual = nullptr, current = nullptr;
            ask("cuMemPoolCreate " + text(place), d.cuMemPoolCreate(&pool, &properties));
            ask("cuMemGetDefaultMemPool " + text(place),
                d.cuMemGetDefaultMemPool(&usual, &where, allocation));
            ask("cuMemGetMemPool " + text(place), d.cuMemGetMemPool(&current, &where, allocation));
            ask("cuMemSetMemPool " + text(place), d.cuMemSetMemPool(&where, allocation, pool));
            CUmemLocation zero = location_of({type, location, 0});
            ask("cuMemSetMemPool of id 0 " + text(place),
                d.cuMemSetMemPool(&zero, allocation, pool));
            CUgraph graph = MAKE(cuGraphCreate, 0);
            CUgraphNode node = nullptr;
            CUDA_MEM_ALLOC_NODE_PARAMS wanted{.poolProps = properties, .bytesize = 1024};
            ask("cuGraphAddMemAllocNode " + text(place),
                d.cuGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
        }
    }
}

void allocate_in(const Sides &of, const Placement &place) {
    const auto properties = properties_of(place);
    CUmemoryPool pool = nullptr;
    ask("cuMemPoolCreate " + text(place), d.cuMemPoolCreate(&pool, &properties));
    for (const int device : {0, 1}) {
        CUmemLocation where = location_of({0, 1, device});
        CUmemAccess_flags told{};
        tell("cuMemPoolGetAccess of " + std::to_string(device),
             d.cuMemPoolGetAccess(&told, pool, &where), told);
    }
    for (const Side *side : {&of.zero, &of.one}) {
        side->enter();
        CUdeviceptr p = 0;
        int ordinal = 77;
        ASK(cuMemAllocFromPoolAsync, "", &p, 4096, pool, side->stream);
        ASK(cuStreamSynchronize, "", side->stream);
        tell("DEVICE_ORDINAL",
             d.cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p), ordinal);
        const Row row("in a stream of " + std::to_string(side->device) + ", used by 0 and 1");
        use(p, of.zero);
        use(p, of.one);
        ASK(cuMemFreeAsync, "", p, side->stream);
    }
    of.synchronize();
    const CUmemAccessDesc access{.location = location_of({0, 1, 1}),
                                 .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    ASK(cuMemPoolSetAccess, " of 1", pool, &access, 1);
    const CUmemAccessDesc nothing{.location = location_of({0, 1, 1}),
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_NONE};
    ASK(cuMemPoolSetAccess, " to none of 1", pool, &nothing, 1);
}

} // namespace

SECTION_ONCE("pools_by_location") {
    apart("places", places);
    for (const Placement &place : {Placement{1, 2, 0}, Placement{1, 3, 0}, Placement{2, 0, 0},
                                   Placement{2, 1, 0}, Placement{2, 1, 1}, Placement{2, 2, 0}}) {
        apart(text(place), [place](const Sides &of) { allocate_in(of, place); });
    }
}

} // namespace record::QUESTIONS::two_devices
