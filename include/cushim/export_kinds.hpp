/* In what forms memory and pools may leave the process. */
#ifndef CUSHIM_EXPORT_KINDS_HPP
#define CUSHIM_EXPORT_KINDS_HPP

#include <cushim/config.h>

namespace cushim {

// As what memory may leave the process.
struct ExportKinds {
    bool posix_fd = false; // a file descriptor; not on Windows
    bool win32 = false;    // an NT handle; on Windows only
    bool fabric = false;   // 64 bytes that any node of the same fabric can import. CUDA 12.3
};

// 64 bytes by which memory and pools are found across a fabric of NVLink. Plain data: send it as it is.
struct FabricHandle {
    unsigned char bytes[64] = {};
};

} // namespace cushim

#endif
