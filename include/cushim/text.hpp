/* Text: what to_text() of enums and owners returns, for logs and debuggers.
 *
 *     std::printf("%s: %s\n", to_text(stream).c_str(), to_text(update.result).c_str());
 *     Stream(0x55d3c0a1b2c0, device 0): GraphUpdateResult::parameters_changed
 *
 * Each type's header declares its to_text(). printing.hpp adds operator<< and std::formatter.
 *
 *     enumerators     the qualified name; the number if the value is not an enumerator:
 *                     GraphUpdateResult(17)
 *     owners          the handle; the device, if cushim knows it; the size of memory in bytes;
 *                     "borrowed" if the owner does not destroy the object. An owner without an
 * object prints as Stream(empty), and so does a buffer without elements others Stream(legacy),
 * Stream(per_thread), Device(0), GraphNode(0x55d3c0a1b2c0), UniqueFd(7)
 *
 * to_text() calls no CUDA function and allocates no memory: it works without a driver, in
 * destructors and in a teardown sink. Programs must not parse it. Threads: as for const functions.
 */
#ifndef CUSHIM_TEXT_HPP
#define CUSHIM_TEXT_HPP

#include <cushim/detail/config.h>

namespace cushim {

struct Text {
    char characters[128];

    constexpr const char *c_str() const noexcept { return characters; }
};

} // namespace cushim

#endif
