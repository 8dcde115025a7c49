#include "captures.hpp"

#include <memory>
#include <new>
#include <thread>

#include "base/fork_guard.hpp"
#include "state.hpp"

namespace cushim::detail {
namespace {

struct BegunCapture {
    // Each context has its per-thread default streams.
    bool is_in(CUstream other, CUcontext current) const noexcept {
        return stream == other && (stream != CU_STREAM_PER_THREAD ||
                                   (thread == std::this_thread::get_id() && context == current));
    }

    CUstream stream;
    CUcontext context;
    std::thread::id thread;
    unsigned long long id;
    CaptureTarget target;
    BegunCapture *next = nullptr;
};

constinit BegunCapture *begun = nullptr;
constinit ForkLock begun_lock = {};

// Where the list has the first one for which is_it() returns true; ends with null.
template <class IsIt>
BegunCapture **find(const IsIt &is_it) noexcept {
    BegunCapture **at = &begun;
    while (*at != nullptr && !is_it(**at)) {
        at = &(*at)->next;
    }
    return at;
}

template <class IsIt>
void remove(const IsIt &is_it) noexcept {
    BegunCapture **const at = find(is_it);
    if (const std::unique_ptr<BegunCapture> removed{*at}) {
        *at = removed->next;
    }
}

} // namespace

Result<CaptureInProgress> capture_in(CUstream stream) noexcept {
    CaptureInProgress capture;
    CUstreamCaptureStatus status{};
    cuuint64_t id = 0;
    CUSHIM_TRY_VOID(call<entry::cuStreamGetCaptureInfo_v2>(stream, &status, &id, &capture.graph,
                                                           nullptr, nullptr));
    capture.id = id;
    return capture;
}

Result<void> note_capture(CUstream stream, CUcontext context, GraphState *into) noexcept {
    CUSHIM_TRY(const CaptureInProgress capture, capture_in(stream));
    using Kind = CaptureTarget::Kind;
    auto *const made = new (std::nothrow)
        BegunCapture{stream,
                     context,
                     std::this_thread::get_id(),
                     capture.id,
                     {into != nullptr ? Kind::of_graph : Kind::made_by_capture, into}};
    if (made == nullptr) {
        return no_host_memory();
    }
    const LockGuard guard(begun_lock);
    remove([&](const BegunCapture &each) { return each.is_in(stream, context); });
    made->next = begun;
    begun = made;
    if (into != nullptr) {
        into->is_captured_into = true;
    }
    return {};
}

CaptureTarget target_of(const CaptureInProgress &capture) noexcept {
    const LockGuard guard(begun_lock);
    BegunCapture *const found =
        *find([&](const BegunCapture &each) { return each.id == capture.id; });
    return found != nullptr && capture.id != 0 ? found->target : CaptureTarget();
}

void forget_capture(const CaptureInProgress &capture) noexcept {
    const LockGuard guard(begun_lock);
    remove([&](const BegunCapture &each) { return each.id == capture.id; });
}

void forget_target(const GraphState &graph) noexcept {
    const LockGuard guard(begun_lock);
    for (BegunCapture *each = begun; each != nullptr; each = each->next) {
        if (each->target.graph == &graph) {
            each->target.graph = nullptr;
        }
    }
}

} // namespace cushim::detail
