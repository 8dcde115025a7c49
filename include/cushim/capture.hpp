/* Capture: what is queued in a stream becomes a graph instead of being run.
 *
 *     CUSHIM_TRY(const Graph graph, stream.capture([&]() -> Result<void> {
 *         CUSHIM_TRY_VOID(copy(stream, device, host));
 *         return kernel.launch(stream, config, device, n);
 *     }));
 *
 * A capture takes in other streams that wait for an event which was recorded in it (fork); they must be waited
 * for in turn before it ends (join).
 *
 * Captured work keeps nothing alive but closures of Stream::launch_host_function(): what else it uses is kept
 * with Graph::keep_alive(), or by the caller.
 *
 * Every end ends the capture, whatever it answers: invalid_argument where what begin_capture_to() began is ended by
 * end_capture(), or to another graph. A capture that CUDA's own call began, into a graph that no Graph owns, is not
 * to be ended by end_capture(), which would own it.
 *
 * Threads: a capture ends on the thread where it began, unless its mode is relaxed. On another one it ends, too, but
 * what was captured is lost: status 908.
 * Entry points: cuStreamBeginCapture_v2 (CUDA 10.1), cuStreamEndCapture, cuStreamIsCapturing (CUDA 10.0),
 * cuStreamBeginCaptureToGraph (CUDA 12.3).
 */
#ifndef CUSHIM_CAPTURE_HPP
#define CUSHIM_CAPTURE_HPP

#include <cushim/capture_mode.hpp>
#include <cushim/graph.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

CUSHIM_API Result<void> begin_capture(Api api, const Stream &stream, CaptureMode mode) noexcept;
CUSHIM_API Result<Graph> end_capture(Api api, const Stream &stream) noexcept;
// Tells the teardown sink, but for captures that were ruined before, or left unjoined.
CUSHIM_API void report_unheard(const Error &error) noexcept;

// What f() answers, without its value.
template <class F>
Result<void> answer_of(F &f) {
    if constexpr (std::is_void_v<std::invoke_result_t<F &>>) {
        f();
        return {};
    } else {
        auto result = f();
        if (!result) {
            return result.error();
        }
        return {};
    }
}

// Calls f(), and then end() on every path, exceptions included. The first error is the answer; a second one
// goes to the teardown sink.
template <class F, class End>
auto captured(F &f, End end) -> decltype(end()) {
    struct Scope {
        End *end;
        ~Scope() {
            if (end != nullptr) {
                const auto ended = (*end)(); // and what was captured goes
                if (!ended) {
                    report_unheard(ended.error());
                }
            }
        }
    } scope{&end};
    Result<void> done = answer_of(f);
    scope.end = nullptr;
    auto ended = end();
    if (!done) {
        if (!ended) {
            report_unheard(ended.error());
        }
        return done.error();
    }
    return ended;
}

template <class F>
Result<Graph> capture(Api api, const Stream &stream, CaptureMode mode, F &f) {
    const Stream kept = stream.share(); // whatever f() does with `stream`
    CUSHIM_TRY_VOID(begin_capture(api, kept, mode));
    return captured(f, [&]() noexcept { return end_capture(api, kept); });
}

} // namespace detail

template <class F>
Result<Graph> Stream::capture(CaptureMode mode, F &&f) const {
    return detail::capture(Api::driver, *this, mode, f);
}

template <class F>
Result<Graph> Stream::capture(F &&f) const {
    return detail::capture(Api::driver, *this, CaptureMode::per_thread, f);
}

template <class F>
Result<void> Stream::capture_to(const Graph &graph, const GraphDependencies &dependencies,
                                CaptureMode mode, F &&f) const {
    const Stream kept = share(); // whatever f() does with this one, and with `graph`
    const Graph to = graph.share();
    CUSHIM_TRY_VOID(kept.begin_capture_to(to, dependencies, mode));
    return detail::captured(f, [&]() noexcept { return kept.end_capture_to(to); });
}

} // namespace cushim

#endif
