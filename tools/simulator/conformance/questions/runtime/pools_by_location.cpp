// The runtime's memory pools by allocation type and location.
#include "../pools_by_location.hpp"
#include "../../row.hpp"
#include "../../runtime_questions.hpp"
#include "../other_process.hpp"

namespace record::QUESTIONS::runtime {

#if CUDART_VERSION >= 13000

namespace {

// One row for a type and a location.
void for_each_place(const std::string &what, const auto &body) {
    for (const int type : {0, 1, 2, 3}) {
        for (const int location : {0, 1, 2, 3, 4, 5}) {
            const Row row(what + ", type " + std::to_string(type) + " location " +
                          std::to_string(location));
            for (const int id : {-1, 0, 99}) {
                body(Placement{type, location, id});
            }
        }
    }
}

void creation() {
    for_each_place("ids -1, 0, 99, handles 0, 1", [](const Placement &place) {
        for (const int handle : {0, 1}) {
            auto properties = properties_of<cudaMemPoolProps>(place);
            properties.handleTypes = static_cast<cudaMemAllocationHandleType>(handle);
            cudaMemPool_t pool = nullptr;
            ask("cudaMemPoolCreate " + text(place) + " handle " + std::to_string(handle),
                r.cudaMemPoolCreate(&pool, &properties));
            if (pool != nullptr) {
                r.cudaMemPoolDestroy(pool);
            }
        }
    });
}

void defaults() {
    for_each_place("default, current, set null, set it", [](const Placement &place) {
        auto where = location_of<cudaMemLocation>(place);
        const auto type = static_cast<cudaMemAllocationType>(place.type);
        cudaMemPool_t usual = nullptr, current = nullptr;
        ask("cudaMemGetDefaultMemPool " + text(place),
            r.cudaMemGetDefaultMemPool(&usual, &where, type));
        const auto asked =
            ask("cudaMemGetMemPool " + text(place), r.cudaMemGetMemPool(&current, &where, type));
        asked.told("the default is current", usual == current);
        ask("cudaMemSetMemPool(null) " + text(place), r.cudaMemSetMemPool(&where, type, nullptr));
        if (asked.status == 0) {
            ask("cudaMemSetMemPool " + text(place), r.cudaMemSetMemPool(&where, type, usual));
        }
    });
    cudaMemPool_t pool = nullptr;
    auto here = location_of<cudaMemLocation>({1, 1, 0});
    const auto pinned = cudaMemAllocationTypePinned;
    ASK(cudaMemGetDefaultMemPool, "(null output)", nullptr, &here, pinned);
    ASK(cudaMemGetDefaultMemPool, "(null location)", &pool, nullptr, pinned);
    ASK(cudaMemGetMemPool, "(null output)", nullptr, &here, pinned);
    ASK(cudaMemGetMemPool, "(null location)", &pool, nullptr, pinned);
    ASK(cudaMemSetMemPool, "(null location)", nullptr, pinned, pool);
}

void memory() {
    for (const Placement &place :
         {Placement{1, 1, 0}, Placement{1, 2, 0}, Placement{1, 3, 0}, Placement{2, 0, 0},
          Placement{2, 1, 0}, Placement{2, 2, 0}, Placement{2, 3, 0}, Placement{2, 4, 0}}) {
        const auto properties = properties_of<cudaMemPoolProps>(place);
        const Row row("made, memory, pointer, set, access, freed, " + text(place));
        cudaMemPool_t pool = nullptr;
        void *p = nullptr;
        ask("cudaMemPoolCreate " + text(place), r.cudaMemPoolCreate(&pool, &properties));
        ASK(cudaMallocFromPoolAsync, "", &p, 4096, pool, nullptr);
        cudaPointerAttributes told{};
        ASK(cudaPointerGetAttributes, "", &told, p);
        note("type", told.type);
        note("device", told.device);
        note("device pointer is the address", told.devicePointer == p);
        note("host pointer is the address", told.hostPointer == p);
        note("host pointer is null", told.hostPointer == nullptr);
        ASK(cudaMemset, "", p, 1, 16);
        for (const int location : {0, 1, 2, 3, 4}) {
            auto where = location_of<cudaMemLocation>({0, location, 0});
            cudaMemAccessFlags flags{};
            tell("cudaMemPoolGetAccess of location " + std::to_string(location),
                 r.cudaMemPoolGetAccess(&flags, pool, &where), flags);
        }
        ASK(cudaFreeAsync, "", p, nullptr);
        ASK(cudaMallocFromPoolAsync, "", &p, 4096, pool, nullptr);
        ASK(cudaFree, "", p);
        ASK(cudaMallocFromPoolAsync, "", &p, 4096, pool, nullptr);
        ASK(cudaDeviceSynchronize, "");
        ASK(cudaFreeHost, "", p);
        ASK(cudaMemPoolTrimTo, "", pool, 0);
        ASK(cudaMemPoolDestroy, "", pool);
    }
}

void nodes() {
    for_each_place("plain, cudaGraphAddNode", [](const Placement &place) {
        cudaGraph_t graph = MAKE(cudaGraphCreate, 0);
        cudaGraphNode_t node = nullptr;
        cudaMemAllocNodeParams wanted{};
        wanted.poolProps = properties_of<cudaMemPoolProps>(place);
        wanted.bytesize = 1024;
        ask("cudaGraphAddMemAllocNode " + text(place),
            r.cudaGraphAddMemAllocNode(&node, graph, nullptr, 0, &wanted));
        cudaGraphNodeParams any{};
        any.type = cudaGraphNodeTypeMemAlloc;
        any.alloc.poolProps = wanted.poolProps;
        any.alloc.bytesize = 1024;
        ask("cudaGraphAddNode " + text(place),
            r.cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &any));
        r.cudaGraphDestroy(graph);
    });
}

void alone(const std::string &name, void (*body)()) {
    ask_in_short(name, [=] {
        if (begin()) {
            body();
        }
    });
}

} // namespace

SECTION_ONCE("pools_by_location") {
    alone("creation", creation);
    alone("defaults", defaults);
    alone("memory", memory);
    alone("nodes", nodes);
}

#endif

} // namespace record::QUESTIONS::runtime
