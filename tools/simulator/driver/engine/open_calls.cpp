#include "engine/open_calls.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "call/call.hpp"
#include "call/runtime_calls.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

namespace sim {
namespace {

// The call that must be undone.
struct Origin {
    const char *name = Call::current()->name();
    std::uint64_t number = Call::current()->number();

    std::string text() const { return std::string(name) + " in call " + std::to_string(number); }
};

struct Retain {
    int device;
    Origin origin;
};

struct Push {
    std::uint64_t thread;
    std::size_t depth;
    const Context *context; // may have ended
    std::string what;
    Origin origin;
};

struct Peer {
    const Context *from, *to;
    Origin origin;
};

struct Export {
    std::intptr_t descriptor;
    platform::FileIdentity file;
    Origin origin;
};

struct Ended {
    std::string text;
    bool is_lost;
};
constexpr std::size_t most_ended = 1000; // limits the memory of a program that never stops

struct State {
    std::vector<Ended> ended;
    std::vector<const Context *> failed;
    std::vector<Retain> retains;
    std::vector<Push> pushes;
    std::vector<Peer> peers;
    std::vector<Export> exports;
    std::uint64_t threads = 0;
};

State &state() {
    static Immortal<State> all;
    return *all;
}

std::uint64_t this_thread() {
    static thread_local const std::uint64_t number = ++state().threads;
    return number;
}

std::string text_of(const Context &context) {
    char text[64];
    std::snprintf(text, sizeof text, "context %p of device %d", static_cast<const void *>(&context),
                  context.device);
    return text;
}

// The live context, or null.
const Context *living(const Context *context) {
    const bool is_living = Registry::get().find(context) == context && !context->destroyed;
    return is_living ? context : nullptr;
}

bool is_active(int ordinal) {
    return ordinal < device_count() && device(ordinal).primary != nullptr &&
           !device(ordinal).primary->destroyed;
}

bool holds(const Peer &peer) {
    const Context *from = living(peer.from);
    return from != nullptr && from->peers.contains(const_cast<Context *>(peer.to));
}

} // namespace

void note_retain(int device) {
    if (!in_runtime_call()) {
        state().retains.push_back({device, {}});
    }
}

void note_release(int device) noexcept {
    auto &retains = state().retains;
    const auto last =
        std::find_if(retains.rbegin(), retains.rend(),
                     [device](const Retain &retain) { return retain.device == device; });
    if (last != retains.rend() && !in_runtime_call()) {
        retains.erase(std::next(last).base());
    }
}

void note_push(const CUctx_st &context, std::size_t depth) {
    note_pops(depth - 1);
    state().pushes.push_back({this_thread(), depth, &context, text_of(context), {}});
}

void note_pops(std::size_t depth) noexcept {
    std::erase_if(state().pushes, [depth](const Push &push) {
        return push.thread == this_thread() && push.depth > depth;
    });
}

void note_peer_access(const CUctx_st &from, const CUctx_st &to) {
    std::erase_if(state().peers, [&](const Peer &peer) {
        return peer.from == &from && peer.to == &to; // recorded earlier
    });
    state().peers.push_back({&from, &to, {}});
}

void note_export(std::intptr_t descriptor) {
    if (const auto file = platform::identity_of(descriptor)) {
        state().exports.push_back({descriptor, *file, {}});
    }
}

void note_left(const std::string &what, const Context *context) {
    if (state().ended.size() < most_ended) {
        const Call *call = Call::current();
        const std::string end = call != nullptr ? std::string(", ended by ") + call->name() +
                                                      " in call " + std::to_string(call->number())
                                                : ", ended with its thread";
        state().ended.push_back({what + end, has_failed(context)});
    }
}

void note_failed(const Context &context) noexcept try {
    state().failed.push_back(&context);
} catch (...) { // out of memory: its objects count as leaks
}

bool has_failed(const Context *context) noexcept {
    const auto &failed = state().failed;
    return context == nullptr ? !failed.empty()
                              : std::find(failed.begin(), failed.end(), context) != failed.end();
}

void for_each_open_call(const Leak &leak) {
    for (const auto &[text, is_lost] : state().ended) {
        leak(text, is_lost);
    }
    for (const Retain &retain : state().retains) {
        if (!is_active(retain.device)) {
            continue; // a reset ended it
        }
        leak("primary context of device " + std::to_string(retain.device) + " retained by " +
                 retain.origin.text(),
             has_failed(device(retain.device).primary));
    }
    for (const Push &push : state().pushes) {
        leak(push.what + " pushed by " + push.origin.text(), has_failed(push.context));
    }
    for (const Peer &peer : state().peers) {
        if (holds(peer)) {
            leak("access to " + text_of(*peer.to) + " enabled by " + peer.origin.text(),
                 has_failed(peer.from));
        }
    }
    for (const Export &given : state().exports) {
        if (platform::identity_of(given.descriptor) == given.file) {
            leak("open descriptor " + std::to_string(given.descriptor) + " exported by " +
                     given.origin.text(),
                 false); // closing it does not need CUDA
        }
    }
}

void clear_open_calls() noexcept {
    state().ended.clear();
    state().failed.clear();
    state().retains.clear();
    state().pushes.clear();
    state().peers.clear();
    state().exports.clear();
}

} // namespace sim
