// Leaks that are not live objects: calls that must be undone by another call (retains, pushes, peer
// access, exported descriptors), and what ended before the program gave it back. What belongs to a
// context that failed is lost instead, since no call can give it back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

struct CUctx_st;

namespace sim {

// The client retained or released a device's primary context. The runtime's own retain, which is
// never released, does not count. Which of several retains a release undoes is unknown; it counts
// for the last.
void note_retain(int device);
void note_release(int device) noexcept;
// The calling thread's context stack has `depth` entries; the client pushed the last.
void note_push(const CUctx_st &context, std::size_t depth);
// The stack has only `depth` entries left.
void note_pops(std::size_t depth) noexcept;
// `from` may access the memory of `to`, until either context ends or access is revoked.
void note_peer_access(const CUctx_st &from, const CUctx_st &to);
// The client must close this descriptor. On Windows, handles are not recorded.
void note_export(std::intptr_t descriptor);

// The current call ends something of the context that the program should have given back before.
void note_left(const std::string &what, const CUctx_st *context);
void note_left(const auto &made, const CUctx_st *context) noexcept try {
    note_left(std::string(made.describe()), context);
} catch (...) { // out of memory: the report lacks it
}

// A fault has failed the context.
void note_failed(const CUctx_st &context) noexcept;
// For null, which stands for an unknown context: whether any has failed.
bool has_failed(const CUctx_st *context) noexcept;
// Objects and memory that are not bound to a context belong to the one in which they were made.
bool is_lost(const auto &made) {
    return has_failed(made.context != nullptr ? made.context : made.made_in_context);
}

// Calls leak(text, is_lost): "primary context of device 0 retained by cuDevicePrimaryCtxRetain in
// call 2".
using Leak = std::function<void(const std::string &text, bool is_lost)>;
void for_each_open_call(const Leak &leak);
void clear_open_calls() noexcept;

} // namespace sim
