// Calls that create no object but must be undone by another call: retains, pushes, peer access,
// exported descriptors. If they are not undone, they are leaks too.
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

// "primary context of device 0 retained by cuDevicePrimaryCtxRetain in call 2". Returns the number
// of lines.
std::size_t for_each_open_call(const std::function<void(const std::string &)> &line);
void clear_open_calls() noexcept;

} // namespace sim
