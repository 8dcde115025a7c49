/* Captures the work that a function enqueues, and ends the capture on every path. */
#ifndef CUSHIM_DETAIL_CAPTURE_HPP
#define CUSHIM_DETAIL_CAPTURE_HPP

#include <type_traits>

#include <cushim/capture_mode.hpp>
#include <cushim/graph.hpp>
#include <cushim/stream.hpp>

namespace cushim {
namespace detail {

// Errors name Stream::capture(), or rt::capture().
CUSHIM_API Result<void> begin_capture(Api api, const Stream &stream, CaptureMode mode) noexcept;
CUSHIM_API Result<Graph> end_capture(Api api, const Stream &stream) noexcept;
// Reports to the teardown sink, except for captures that were already invalidated or are unjoined.
CUSHIM_API void report_unheard(const Error &error) noexcept;

// The success or failure of f(), without its value.
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

// Calls f(), then end() on every path, exceptions included. Returns the first error; a second one
// goes to the teardown sink.
template <class F, class End>
auto captured(F &f, End end) -> decltype(end()) {
    struct Scope {
        End *end;
        ~Scope() {
            if (end != nullptr) {
                const auto ended = (*end)(); // the captured work is discarded
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
    const Stream kept = stream.share(); // f() may destroy `stream`
    CUSHIM_DETAIL_TRY_VOID(cushim_done, begin_capture(api, kept, mode));
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
Result<void> Stream::capture_to(Graph &graph, const GraphDependencies &dependencies,
                                CaptureMode mode, F &&f) const {
    const Stream kept = share(); // f() may destroy this stream and `graph`
    Graph to = graph.share();
    constexpr const char *here = "Stream::capture_to";
    CUSHIM_DETAIL_TRY_VOID(cushim_done,
                           detail::named(here, kept.begin_capture_to(to, dependencies, mode)));
    return detail::captured(
        f, [&]() noexcept { return detail::named(here, kept.end_capture_to(to)); });
}

} // namespace cushim

#endif
