#include "engine/open_calls.hpp"
#include "base/immortal.hpp"
#include "base/platform.hpp"
#include "base/thread_number.hpp"
#include "call/call.hpp"
#include "call/runtime_calls.hpp"
#include "engine/context.hpp"
#include "engine/device.hpp"

#include <compare>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace sim {
namespace {

// The call that must be undone.
struct Origin {
    const char *name = Call::current()->name();
    std::uint64_t number = Call::current()->number();

    std::string text() const { return std::string(name) + " in call " + std::to_string(number); }
};

struct Push {
    std::size_t depth;
    const Context *context; // may have ended
    std::string what;
    Origin origin;
};

struct Peer {
    const Context *from, *to;
    auto operator<=>(const Peer &) const = default;
};

struct Export {
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
    std::set<const Context *> failed;
    std::map<int, std::vector<Origin>> retains;        // by device
    std::map<std::uint64_t, std::vector<Push>> pushes; // by thread
    std::map<Peer, Origin> peers;                      // may have ended: see holds()
    std::map<std::intptr_t, Export> exports;           // by descriptor, which may be closed
};

State &state() {
    static Immortal<State> all;
    return *all;
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
    return from != nullptr && living(peer.to) != nullptr && is_peer(*from, *peer.to);
}

} // namespace

void note_retain(int device) {
    if (!in_runtime_call()) {
        state().retains[device].emplace_back();
    }
}

void note_release(int device) noexcept {
    const auto retains = state().retains.find(device);
    if (retains != state().retains.end() && !retains->second.empty() && !in_runtime_call()) {
        retains->second.pop_back();
    }
}

void note_push(const CUctx_st &context, std::size_t depth) {
    note_pops(depth - 1);
    state().pushes[thread_number()].push_back({depth, &context, text_of(context), {}});
}

void note_pops(std::size_t depth) noexcept {
    const auto own = state().pushes.find(thread_number());
    if (own == state().pushes.end()) {
        return;
    }
    while (!own->second.empty() && own->second.back().depth > depth) {
        own->second.pop_back();
    }
    if (own->second.empty()) {
        state().pushes.erase(own);
    }
}

void note_peer_access(const CUctx_st &from, const CUctx_st &to) {
    state().peers.insert_or_assign(Peer{&from, &to}, Origin());
}

void note_export(std::intptr_t descriptor) {
    if (const auto file = platform::identity_of(descriptor)) {
        state().exports.insert_or_assign(descriptor, Export{*file, {}});
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
    state().failed.insert(&context);
} catch (...) { // out of memory: its objects count as leaks
}

bool has_failed(const Context *context) noexcept {
    const auto &failed = state().failed;
    return context == nullptr ? !failed.empty() : failed.count(context) != 0;
}

void for_each_open_call(const Leak &leak) {
    for (const auto &[text, is_lost] : state().ended) {
        leak(text, is_lost);
    }
    for (const auto &[ordinal, retains] : state().retains) {
        if (!is_active(ordinal)) {
            continue; // a reset ended them
        }
        for (const Origin &retain : retains) {
            leak("primary context of device " + std::to_string(ordinal) + " retained by " +
                     retain.text(),
                 has_failed(device(ordinal).primary));
        }
    }
    for (const auto &[thread, pushes] : state().pushes) {
        for (const Push &push : pushes) {
            leak(push.what + " pushed by " + push.origin.text(), has_failed(push.context));
        }
    }
    std::map<std::uint64_t, const Peer *> peers; // by call
    for (const auto &[peer, origin] : state().peers) {
        if (holds(peer)) {
            peers.emplace(origin.number, &peer);
        }
    }
    for (const auto &[number, peer] : peers) {
        leak("access to " + text_of(*peer->to) + " enabled by " + state().peers.at(*peer).text(),
             has_failed(peer->from));
    }
    for (const auto &[descriptor, given] : state().exports) {
        if (platform::identity_of(descriptor) == given.file) {
            leak("open descriptor " + std::to_string(descriptor) + " exported by " +
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
