// Entry point lookup by name: both versions of cuGetProcAddress.
//
// Both take a base name (cuMemAlloc) and the CUDA version that the caller was written for, and
// return the newest ABI of that version. Results agree for every base name, version and flag with
// the drivers 470.256.02, 535.261.03, 550.163.01 and 580.159.04:
// - Only base names are known: cuMemAlloc_v2 and cuStreamQuery_ptsz are not found.
// - If per-thread variants are requested, only these count for a name that has any: cuMemcpyHtoD of
//   CUDA 3.2 is found, but its per-thread variant, of CUDA 7.0, is not.
// - Versions compare as unsigned numbers, so -1 is the newest. For a version above the driver's
// own,
//   drivers since CUDA 13.0 fail, as documented; older ones return their newest ABI.
// - Flags that the headers do not define fail first. Both flags together request per-thread
// variants.
// - If nothing is found, the second version succeeds with a null pointer; the first returns
//   NOT_FOUND and leaves the pointer unchanged.
// - A null name or a null result pointer crashes drivers; here it is a misuse and INVALID_VALUE.
#include "base/refusal.hpp"
#include "call/misuse.hpp"
#include "call/settings.hpp"
#include "driver_functions.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace sim {
namespace {

// The rows of a base name, with and without the suffix of per-thread variants.
struct Family {
    std::vector<const Row *> legacy, per_thread;
};

const Family *family_of(std::string_view base) {
    static const auto *families = [] {
        auto *made = new std::unordered_map<std::string_view, Family>; // also used during exit
        for (unsigned int i = 0; i != driver_row_count; ++i) {
            const Row &row = driver_rows[i];
            Family &family = (*made)[row.base];
            (row.per_thread != 0 ? family.per_thread : family.legacy).push_back(&row);
        }
        return made;
    }();
    const auto found = families->find(base);
    return found != families->end() ? &found->second : nullptr;
}

// A simulated driver with an older version has only the rows of that version.
bool of_this_driver(const Row &row) {
    return row.introduced <= std::min(sim_variant_version, driver_version());
}

enum class Outcome { found, not_found, version_not_sufficient };

struct Lookup {
    Outcome outcome;
    void *address = nullptr;
};

bool newer(const Row &row, const Row *than) {
    return than == nullptr || row.introduced > than->introduced ||
           (row.introduced == than->introduced && row.abi > than->abi);
}

Lookup newest_of(const std::vector<const Row *> &rows, unsigned int version) {
    Outcome without = Outcome::not_found;
    const Row *best = nullptr;
    for (const Row *row : rows) {
        if (!of_this_driver(*row)) {
            continue;
        }
        without = Outcome::version_not_sufficient;
        if (static_cast<unsigned int>(row->introduced) <= version && newer(*row, best)) {
            best = row;
        }
    }
    if (best == nullptr) {
        return {without};
    }
    // If the variant lacks the newest ABI, an older one does not replace it.
    return std::strcmp(best->name, sim_variant_lacks) == 0
               ? Lookup{Outcome::not_found}
               : Lookup{Outcome::found, const_cast<void *>(best->address)};
}

// Headers before CUDA 11.3 do not name the flags.
constexpr cuuint64_t legacy_stream = 1, per_thread_stream = 2;

Lookup look_up(const char *symbol, void **pfn, int version, cuuint64_t flags) {
    if ((flags & ~(legacy_stream | per_thread_stream)) != 0) {
        refuse(CUDA_ERROR_INVALID_VALUE, "Invalid flags: 0x%llx",
               static_cast<unsigned long long>(flags));
    }
    if (version > driver_version() && driver_version() >= 13000) {
        refuse(CUDA_ERROR_INVALID_VALUE,
               "cudaVersion argument (%d) exceeds the driver version (%d)", version,
               driver_version());
    }
    if (symbol == nullptr || pfn == nullptr) {
        misuse("cuGetProcAddress with a null name or result pointer, which crashes drivers");
        refuse(CUDA_ERROR_INVALID_VALUE);
    }
    const Family *family = family_of(symbol);
    if (family == nullptr) {
        return {Outcome::not_found};
    }
    if ((flags & per_thread_stream) != 0) {
        const Lookup found = newest_of(family->per_thread, static_cast<unsigned int>(version));
        if (found.outcome != Outcome::not_found) {
            return found;
        }
    }
    return newest_of(family->legacy, static_cast<unsigned int>(version));
}

} // namespace

namespace driver {

EXPORT ANY_TIME CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion,
                                          cuuint64_t flags) {
    const Lookup found = look_up(symbol, pfn, cudaVersion, flags);
    require(found.outcome == Outcome::found, CUDA_ERROR_NOT_FOUND);
    *pfn = found.address;
    return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
EXPORT ANY_TIME CUresult cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion,
                                             cuuint64_t flags,
                                             CUdriverProcAddressQueryResult *symbolStatus) {
    const Lookup found = look_up(symbol, pfn, cudaVersion, flags);
    *pfn = found.address;
    if (symbolStatus != nullptr) {
        constexpr CUdriverProcAddressQueryResult results[] = {
            CU_GET_PROC_ADDRESS_SUCCESS,
            CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND,
            CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
        };
        *symbolStatus = results[static_cast<int>(found.outcome)];
    }
    return CUDA_SUCCESS;
}
#endif

} // namespace driver
} // namespace sim
