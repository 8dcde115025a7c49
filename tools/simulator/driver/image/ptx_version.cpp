#include "image/ptx_version.hpp"

namespace sim {

int newest_ptx(int cuda) {
    const int major = cuda / 1000, minor = cuda % 1000 / 10;
    if (major >= 13) {
        return (major - 4) * 10 + minor;
    }
    if (major == 12) {
        return 80 + (minor <= 5 ? minor : minor - 1);
    }
    return 70 + minor;
}

} // namespace sim
