// The engine's threads: workers, which run the work of streams in threaded mode, and the runner,
// which runs work while no thread waits for it.
//
// A worker serves one stream at a time, until none of its operations can run. Streams that wait for
// a worker stand in line. Work that holds the lock needs no second worker, so a further one is
// called when the last one that was called begins to run an operation: there are as many workers as
// client functions run at the same time, and one more. Idle workers end after a while.
#pragma once

#include "engine/stream.hpp"

namespace sim {

// At most so many client functions of streams run at the same time. The streams of others stand in
// line until one of these functions returns.
constexpr std::size_t most_workers = 1024;

// Ensures that a worker exists. May fail.
void ensure_worker();
// In threaded mode: the stream has an operation that is ready or polled.
void put_in_line(Stream &stream) noexcept;
// A stream ends.
void leave_line(Stream &stream) noexcept;
// Ensures that the runner exists. It calls RunMode::run_unwaited() from time to time.
void ensure_runner();
// Whether the exit waits until nothing is enqueued.
bool exit_waits() noexcept;
// Releases the lock and waits until all of these threads have ended.
void end_workers();

} // namespace sim
