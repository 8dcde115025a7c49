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
 *                     "borrowed" if the owner does not destroy the object. Stream(empty) if it
 *                     holds no object, and likewise for a buffer without elements
 *     others          Stream(legacy), Stream(per_thread), Device(0), GraphNode(0x55d3c0a1b2c0),
 *                     UniqueFd(7)
 *
 * to_text() calls no CUDA function and allocates no memory: it works without a driver, in
 * destructors and in a teardown sink. Programs must not parse the text.
 *
 * Threads: as for const functions of the object.
 */
#ifndef CUSHIM_TEXT_HPP
#define CUSHIM_TEXT_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim {

// What to_text() returns: text of at most 127 characters, stored in the object.
struct Text {
    char characters[128]; // null-terminated

    // The text; valid as long as this object.
    constexpr const char *c_str() const noexcept CUSHIM_LIFETIMEBOUND { return characters; }
};

} // namespace cushim

#endif
