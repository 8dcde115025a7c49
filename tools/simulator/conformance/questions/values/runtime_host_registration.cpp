// The runtime's registration of host memory of each kind.
#include "../../runtime_questions.hpp"
#include "host_ranges.hpp"
#include "row.hpp"

namespace record::QUESTIONS::runtime {

SECTION("host_memory_registered", begin) {
    for (const HostRange &range : host_ranges()) {
        Row row;
        for (const unsigned int flags : {cudaHostRegisterDefault, cudaHostRegisterReadOnly}) {
            const cudaError_t status = r.cudaHostRegister(range.start, range.size, flags);
            row.add(status);
            if (status == cudaSuccess) {
                r.cudaHostUnregister(range.start);
            }
        }
        row.print(range.name);
    }
    ASK(cudaGetLastError, "");
    static char memory[3 * 4096];
    Row row;
    for (unsigned int flags = 0; flags < 0x24; ++flags) {
        const cudaError_t status = r.cudaHostRegister(memory, sizeof memory, flags);
        unsigned int found = 0xbad;
        if (status == cudaSuccess) {
            r.cudaHostGetFlags(&found, memory);
            r.cudaHostUnregister(memory);
        }
        row.add(status, found);
    }
    row.print("reported flags");
}

} // namespace record::QUESTIONS::runtime
