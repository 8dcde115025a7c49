#include "platform.hpp"

#include <cushim/driver_table.hpp>

#include <cerrno>
#include <cstdlib>

#include <unistd.h>

namespace cushim::detail {

Result<std::string> make_temporary_file() {
    // A process with elevated rights must not write where its caller's environment says.
    const char *const folder = secure_getenv("TMPDIR");
    const std::string in = folder != nullptr && folder[0] == '/' ? folder : "/tmp";
    std::string path = in + "/cushim-XXXXXX";
    const int descriptor = mkstemp(path.data());
    if (descriptor < 0) {
        const std::string why = "cannot create a temporary file in " + in + ": " +
                                errno_text(errno).c_str() + "; set TMPDIR to a writable directory";
        return Error::status(Api::loader, CUDA_ERROR_OPERATING_SYSTEM, "mkstemp", why.c_str());
    }
    close_descriptor(descriptor);
    return path;
}

void remove_file(const char *path) noexcept {
    (void)unlink(path);
}

} // namespace cushim::detail
