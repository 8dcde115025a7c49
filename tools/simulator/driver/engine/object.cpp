#include "engine/object.hpp"
#include "base/immortal.hpp"
#include "base/poison.hpp"
#include "call/call.hpp"
#include "call/misuse.hpp"
#include "engine/context.hpp"
#include "engine/open_calls.hpp"

#include <cstdio>
#include <new>
#include <unordered_map>

namespace sim {
namespace {

constexpr std::size_t remembered = 1 << 16; // destroyed objects whose addresses are not reused yet

// "an event", "a stream", and "a user object", which is pronounced with a consonant.
std::string one_of(Kind kind) {
    const std::string name = name_of(kind);
    return (std::string("aeio").find(name.front()) == std::string::npos ? "a " : "an ") + name;
}

// The end of a context frees what is bound to it, as CUDA documents. Only memory that the program
// has not freed before is a leak then, as it is for compute-sanitizer.
bool is_memory(const Object &object) {
    return object.kind == Kind::array || object.kind == Kind::mipmapped_array;
}

} // namespace

const char *name_of(Kind kind) noexcept {
    switch (kind) {
    case Kind::context:
        return "context";
    case Kind::stream:
        return "stream";
    case Kind::event:
        return "event";
    case Kind::module:
        return "module";
    case Kind::function:
        return "function";
    case Kind::library:
        return "library";
    case Kind::kernel:
        return "kernel";
    case Kind::array:
        return "array";
    case Kind::mipmapped_array:
        return "mipmapped array";
    case Kind::link:
        return "link state";
    case Kind::graph:
        return "graph";
    case Kind::graph_node:
        return "graph node";
    case Kind::graph_exec:
        return "executable graph";
    case Kind::user_object:
        return "user object";
    case Kind::memory_pool:
        return "memory pool";
    case Kind::physical_memory:
        return "physical memory";
    case Kind::external_memory:
        return "external memory";
    case Kind::external_semaphore:
        return "external semaphore";
    case Kind::texture:
        return "texture object";
    case Kind::surface:
        return "surface object";
    case Kind::green_context:
        return "green context";
    case Kind::graphics_resource:
        return "graphics resource";
    case Kind::texture_reference:
        return "texture reference";
    case Kind::surface_reference:
        return "surface reference";
    case Kind::memory_mapping:
        return "memory mapping";
    case Kind::other:
        break;
    }
    return "object";
}

Object::Object(Kind k) noexcept : kind(k), made_in_context(current_or_null()) {
    if (const Call *call = Call::current()) {
        made_by = call->name();
        made_in = call->number();
    }
}

Object::~Object() = default;

std::string Object::describe() const {
    char text[160];
    std::snprintf(text, sizeof text, "%s %p made by %s in call %llu", name_of(kind),
                  static_cast<const void *>(this), made_by,
                  static_cast<unsigned long long>(made_in));
    return text;
}

// The memory of destroyed objects is kept for a while, so that a new object does not get the same
// address soon. The entries form a linked list: destroying an object allocates nothing.
struct Registry::State {
    struct Dead {
        std::string description;
        End end;
    };
    struct Link {
        Link *next;
    };
    std::unordered_map<const void *, std::unique_ptr<Object>> objects; // live and retired objects
    std::unordered_map<const void *, Dead> dead;
    Link *oldest = nullptr, *newest = nullptr;
    std::size_t quarantined = 0;
};

Registry::State &Registry::state() {
    static Immortal<State> state;
    return *state;
}

Registry &Registry::get() {
    static Registry registry;
    return registry;
}

void Registry::keep(std::unique_ptr<Object> object) {
    Object &kept = *object;
    state().dead.erase(&kept);
    state().objects.emplace(&kept, std::move(object));
    if (kept.context != nullptr) {
        kept.context->objects.add(kept);
    }
}

Object *Registry::find(const void *handle) const noexcept {
    const auto &objects = state().objects;
    const auto found = objects.find(handle);
    return found == objects.end() || found->second->retired ? nullptr : found->second.get();
}

void Registry::destroy(Object *object) noexcept {
    end(object, End::alone);
}

void Registry::retire(Object *object, bool with_context) noexcept {
    if (find(object) == object) {
        note_end(*object, with_context ? End::with_context : End::alone);
        object->retired = true;
    }
}

void Registry::note_end(const Object &object, End how) noexcept try {
    std::string description = object.describe();
    if (const Call *call = Call::current()) {
        description += std::string(", destroyed by ") + call->name() + " in call " +
                       std::to_string(call->number());
    }
    state().dead[&object] = {std::move(description), how};
} catch (...) { // out of memory: a later use is reported without this history
}

void Registry::end(Object *object, End how) noexcept {
    const auto found = state().objects.find(object);
    if (found == state().objects.end()) {
        return;
    }
    // Removed from the table first: a destructor may look for its object, or destroy others.
    const std::unique_ptr<Object> dying = std::move(found->second);
    state().objects.erase(found);
    BoundObjects::remove(*dying);
    if (!dying->retired) {
        note_end(*dying, how);
    }
    if (how == End::with_context && dying->counted && is_memory(*dying)) {
        note_left(*dying, dying->context);
    }
}

void Registry::quarantine(void *memory) noexcept {
    State &s = state();
    auto *const link = ::new (memory) State::Link{nullptr};
    (s.newest != nullptr ? s.newest->next : s.oldest) = link;
    s.newest = link;
    if (++s.quarantined > remembered) {
        State::Link *const oldest = s.oldest;
        s.oldest = oldest->next;
        --s.quarantined;
        s.dead.erase(oldest);
        ::operator delete(oldest);
    }
}

void Object::operator delete(void *memory) {
    Registry::quarantine(memory);
}

CUresult Registry::refusal(const void *handle, Kind expected, CUresult otherwise,
                           CUresult after_context) const {
    if (const Object *other = find(handle)) {
        misuse(one_of(expected) + " handle was expected, but this is " + other->describe());
        return otherwise;
    }
    const auto dead = state().dead.find(handle);
    if (dead == state().dead.end()) {
        char address[32];
        std::snprintf(address, sizeof address, "%p", handle);
        const bool poisoned = is_poisoned(reinterpret_cast<std::uintptr_t>(handle));
        misuse(std::string(address) + " is not " + one_of(expected) + " handle" +
               (poisoned ? ": a failed call returned it" : ""));
        return otherwise;
    }
    if (dead->second.end == End::by_reset) {
        explain(discarded_by_reset);
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    if (dead->second.end == End::with_context) {
        // Recorded: the driver returns a status for other kinds, and crashes here.
        if (expected == Kind::stream) {
            misuse("use of a stream whose context was destroyed: " + dead->second.description);
        }
        return after_context;
    }
    misuse(std::string("use of a destroyed ") + dead->second.description);
    return otherwise;
}

bool Registry::ended_with_context(const void *handle) const noexcept {
    const auto dead = state().dead.find(handle);
    return dead != state().dead.end() && dead->second.end == End::with_context;
}

void Registry::note_use_after_context(const void *handle, const char *what) const noexcept try {
    if (ended_with_context(handle)) {
        misuse(std::string(what) + ": " + state().dead.at(handle).description);
    }
} catch (...) { // out of memory: the call still returns its status
}

void Registry::each(const void *function, void (*call)(const void *, Object &)) const {
    for (auto &[handle, object] : state().objects) {
        if (!object->retired) {
            call(function, *object);
        }
    }
}

// Destroying one object may destroy others.
void Registry::destroy_all_of(CUctx_st &context) noexcept {
    while (Object *first = context.objects.first()) {
        end(first, End::with_context);
    }
}

void Registry::clear() noexcept {
    while (!state().objects.empty()) {
        end(state().objects.begin()->second.get(), End::by_reset);
    }
}

} // namespace sim
