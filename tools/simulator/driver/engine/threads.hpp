// The engine's threads: workers, each of which runs the work of one stream, and the runner, which
// runs work while no thread waits for it.
#pragma once

#include "engine/stream.hpp"

namespace sim {

// Ensures that the stream has a worker, which runs its work while the mode is threaded.
void ensure_worker(Stream &stream);
// The stream has an operation that is ready or polled.
void wake_worker(const Stream &stream) noexcept;
// Releases the worker of a stream that ends.
void release_worker(Stream &stream) noexcept;
// Ensures that the runner exists. It calls RunMode::run_unwaited() from time to time.
void ensure_runner();
// Whether the exit waits until nothing is enqueued.
bool exit_waits() noexcept;
// Releases the lock and waits until all of these threads have ended.
void end_workers();

} // namespace sim
