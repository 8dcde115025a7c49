// Calls that make no object, but that another has to undo: retains, pushes, peer access, exported
// descriptors. Those that nobody undid are leaks, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

struct CUctx_st;

namespace sim {

// The client retained, or released, a device's primary context. What the runtime does for itself
// does not count: it never lets go. Which of several retains a release belongs to nobody knows: the
// last.
void note_retain(int device);
void note_release(int device) noexcept;
// The calling thread's stack of contexts has so many entries, of which the client pushed the last.
void note_push(const CUctx_st &context, std::size_t depth);
// It has only so many left.
void note_pops(std::size_t depth) noexcept;
// `from` may use the memory of `to`, until either ends or says otherwise.
void note_peer_access(const CUctx_st &from, const CUctx_st &to);
// A descriptor that is the client's to close. On Windows nothing is noted of handles.
void note_export(std::intptr_t descriptor);

// "primary context of device 0 retained by cuDevicePrimaryCtxRetain in call 2". Returns how many.
std::size_t for_each_open_call(const std::function<void(const std::string &)> &line);
void clear_open_calls() noexcept;

} // namespace sim
