#include "kept_resources.hpp"

#include <cushim/detail/loader.h>

#include <algorithm>

#include "base/call.hpp"
#include "base/fork_guard.hpp"
#include "base/with_memory.hpp"

namespace cushim::detail {
namespace {

void release_uses(void *user) noexcept {
    release_later(static_cast<Released *>(user));
}

// A new user object that owns `kept`. The caller and the graph have a reference each.
Result<CUuserObject> give(CUgraph graph, std::unique_ptr<Released> kept) noexcept {
    CUSHIM_TRY_VOID(require_release_thread());
    CUuserObject object = nullptr;
    CUSHIM_TRY_VOID(call<entry::cuUserObjectCreate>(&object, kept.get(), release_uses, 1,
                                                    CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
    (void)kept.release();
    Result<void> given = call<entry::cuGraphRetainUserObject>(graph, object, 1, 0);
    if (!given) {
        (void)driver().cuUserObjectRelease(object, 1);
        return given.error();
    }
    return object;
}

template <class Value>
void reserve_one(std::vector<Value> &values) {
    if (values.size() == values.capacity()) {
        values.reserve(2 * values.size() + 1);
    }
}

using Held = KeptResources::Held;

// Of graphs that are being captured, chained.
constinit Held *captured = nullptr;
constinit ForkLock captured_lock = {};

// Where the chain has it; ends with null. Under the lock.
Held **find_captured(unsigned long long capture) noexcept {
    Held **at = &captured;
    while (*at != nullptr && (*at)->capture != capture) {
        at = &(*at)->next_captured;
    }
    return at;
}

} // namespace

// Puts a set that has no other owner, with the sets before it, at the front of a chain of such
// sets.
static void put_first(std::shared_ptr<KeptSet> &chain, std::shared_ptr<KeptSet> &&set) noexcept {
    if (set.use_count() != 1) {
        set.reset();
        return;
    }
    KeptSet *last = set.get();
    while (last->before.use_count() == 1) {
        last = last->before.get();
    }
    last->before = std::move(chain);
    chain = std::move(set);
}

// Avoids recursion, however long the chains are and however deep the children.
KeptSet::~KeptSet() {
    std::shared_ptr<KeptSet> chain;
    const auto take_from = [&chain](KeptSet &set) noexcept {
        put_first(chain, std::move(set.before));
        for (std::shared_ptr<KeptSet> &child : set.children) {
            put_first(chain, std::move(child));
        }
    };
    take_from(*this);
    while (const std::shared_ptr<KeptSet> first = std::move(chain)) {
        take_from(*first);
    }
}

// The recordings show these statuses for calls that had no effect.
bool may_be_done(const Error &error) noexcept {
    switch (error.kind()) {
    case ErrorKind::invalid_argument:
    case ErrorKind::not_supported_by_device:
    case ErrorKind::requires_newer_driver:
    case ErrorKind::requires_newer_headers:
    case ErrorKind::symbol_not_found:
    case ErrorKind::unsupported_platform:
    case ErrorKind::wrong_context:
    case ErrorKind::not_permitted:
        return false;
    default:
        break;
    }
    const int status = error.status();
    const bool is_of_capture = status >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
                               status <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    return !is_of_capture && status != CUDA_ERROR_INVALID_VALUE &&
           status != CUDA_ERROR_INVALID_HANDLE && status != CUDA_ERROR_CONTEXT_IS_DESTROYED &&
           status != CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}

Result<void> require_release_thread() noexcept {
    if (!prepare_release()) {
        return Error::make({.kind = ErrorKind::out_of_memory,
                            .detail = "the thread that releases resources cannot be started"});
    }
    return {};
}

bool NewUses::empty() const noexcept {
    return !closure && std::all_of(states.begin(), states.end(),
                                   [](const State *state) { return state == nullptr; });
}

Result<std::unique_ptr<KeptUses>> keep_uses(NewUses &&uses) noexcept {
    if (uses.empty()) {
        return std::unique_ptr<KeptUses>();
    }
    return with_memory([&]() -> Result<std::unique_ptr<KeptUses>> {
        auto kept = std::make_unique<KeptUses>();
        for (State *const state : uses.states) {
            if (state != nullptr) {
                kept->resources.emplace_back(state);
            }
        }
        kept->closure = std::move(uses.closure);
        return kept;
    });
}

Result<std::unique_ptr<KeptUses>> keep_uses(std::shared_ptr<KeptSet> set) noexcept {
    if (set == nullptr) {
        return std::unique_ptr<KeptUses>();
    }
    return with_memory([&]() -> Result<std::unique_ptr<KeptUses>> {
        auto kept = std::make_unique<KeptUses>();
        kept->set = std::move(set);
        return kept;
    });
}

Result<void> keep_in_capture(const CaptureInProgress &capture, OwnedClosure &&closure) noexcept {
    Destroyed released; // reported without the lock: the sink may capture as well
    Result<void> kept = with_memory([&]() -> Result<void> {
        auto held = std::make_unique<Held>();
        held->set = std::make_shared<KeptSet>();
        const LockGuard guard(captured_lock);
        Held *into = *find_captured(capture.id);
        if (into == nullptr) {
            into = held.get();
            CUSHIM_TRY(into->object, give(capture.graph, std::move(held)));
            into->capture = capture.id;
            into->next_captured = captured;
            captured = into;
            released = {call<entry::cuUserObjectRelease>(into->object, 1u), into->object};
        }
        into->set->closures.push_back(std::move(closure));
        return {};
    });
    report_teardown(released);
    return kept;
}

KeptResources::Held::~Held() {
    if (capture != 0) { // other code has ended it
        const LockGuard guard(captured_lock);
        if (Held **const at = find_captured(capture); *at == this) {
            *at = next_captured;
        }
    }
}

Result<void> KeptResources::take_over(unsigned long long capture) noexcept {
    const LockGuard guard(captured_lock);
    Held **const at = find_captured(capture);
    Held *const found = *at;
    if (found == nullptr) {
        return {};
    }
    CUSHIM_TRY_VOID(call<entry::cuUserObjectRetain>(found->object, 1));
    *at = found->next_captured;
    found->capture = 0;
    held_ = found;
    object_ = found->object;
    graph_holds_ = true;
    return {};
}

void KeptResources::release() noexcept {
    if (is_kept_for_good_ || cushim_may_call(generation_) == 0) {
        return;
    }
    report_teardown({call<entry::cuUserObjectRelease>(object_, 1u), object_});
}

// The user object, which may exist already.
Result<void> KeptResources::create() {
    if (held_ != nullptr) {
        return {};
    }
    auto held = std::make_unique<Held>();
    Held *const made = held.get();
    CUSHIM_TRY(object_, give(graph_, std::move(held)));
    held_ = made;
    graph_holds_ = true;
    return {};
}

// A set that may grow.
Result<KeptSet *> KeptResources::own_set() {
    CUSHIM_TRY_VOID(create());
    if (held_->set == nullptr || held_->set.use_count() > 1) {
        auto next = std::make_shared<KeptSet>();
        next->before = std::move(held_->set);
        held_->set = std::move(next);
    }
    return held_->set.get();
}

Result<void> KeptResources::prepare(const NewUses &uses) noexcept {
    if (uses.empty()) {
        return {};
    }
    return with_memory([&]() -> Result<void> {
        CUSHIM_TRY(KeptSet *const set, own_set());
        for (State *const state : uses.states) {
            if (state != nullptr) {
                set->resources.try_emplace(state);
            }
        }
        if (uses.closure) {
            reserve_one(set->closures);
        }
        return {};
    });
}

void KeptResources::keep(NewUses &&uses) noexcept {
    for (State *const state : uses.states) {
        if (state != nullptr) {
            KeepAlive &resource = held_->set->resources.find(state)->second;
            if (!resource) {
                resource = KeepAlive(state);
            }
            state->kept_by.store(number_, std::memory_order_relaxed);
        }
    }
    if (uses.closure) {
        held_->set->closures.push_back(std::move(uses.closure));
    }
}

Result<void> KeptResources::prepare(const std::shared_ptr<KeptSet> &set) noexcept {
    if (set == nullptr) {
        return {};
    }
    return with_memory([&]() -> Result<void> {
        CUSHIM_TRY_VOID(create());
        if (held_->set != nullptr) {
            CUSHIM_TRY(KeptSet *const own, own_set());
            reserve_one(own->children);
        }
        return {};
    });
}

void KeptResources::keep(std::shared_ptr<KeptSet> set) noexcept {
    if (set == nullptr) {
        return;
    }
    if (held_->set == nullptr) {
        held_->set = std::move(set);
    } else if (auto &children = held_->set->children; children.empty() || children.back() != set) {
        children.push_back(std::move(set));
    }
}

// CUDA does not check how many references a graph holds, and one release too many ends the process;
// one reference too many does no harm. So after a failure, the graph gets a further one, which it
// keeps.
Result<void> KeptResources::take() noexcept {
    graph_holds_ = false;
    Result<void> taken = call<entry::cuGraphReleaseUserObject>(graph_, object_, 1);
    if (!taken) {
        is_kept_for_good_ = !retain();
    }
    return taken;
}

void KeptResources::give_back() noexcept {
    const Result<void> given = retain();
    if (given) {
        graph_holds_ = true;
        return;
    }
    const Error &error = given.error();
    report_teardown({error, graph_});
    is_kept_for_good_ = !retain();
}

Result<void> KeptResources::retain() const noexcept {
    return call<entry::cuGraphRetainUserObject>(graph_, object_, 1, 0);
}

} // namespace cushim::detail
