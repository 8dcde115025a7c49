/* The ways to export memory and pools to other processes. */
#ifndef CUSHIM_EXPORT_KINDS_HPP
#define CUSHIM_EXPORT_KINDS_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim {

// The ways in which memory can be exported.
struct ExportKinds {
    bool posix_fd = false; // a file descriptor; not on Windows
    bool win32 = false;    // an NT handle; only on Windows
    bool fabric = false;   // 64 bytes that any node of the fabric can import; requires CUDA 12.3
};

// 64 bytes that identify memory or a pool in an NVLink fabric. Plain data: send the bytes
// unchanged.
struct FabricHandle {
    unsigned char bytes[64] = {}; // a CUmemFabricHandle
};

} // namespace cushim

#endif
