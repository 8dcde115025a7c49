#include "object.hpp"
#include "call.hpp"
#include "misuse.hpp"

#include <cstdio>
#include <deque>
#include <unordered_map>
#include <vector>

namespace sim {
namespace {

constexpr std::size_t remembered =
    1 << 16; // dead objects, whose addresses are not used again so long

// "an event", "a stream"; "a user object", too, which is not spoken as it is written.
std::string one_of(Kind kind) {
    const std::string name = name_of(kind);
    return (std::string("aeio").find(name.front()) == std::string::npos ? "a " : "an ") + name;
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

Object::Object(Kind k) noexcept : kind(k) {
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

// The memory of a dead object is kept for a while, so that its address is not another object's soon.
struct Registry::State {
    struct Dead {
        std::string description;
        bool with_context;
    };
    std::unordered_map<const void *, std::unique_ptr<Object>> living;
    std::unordered_map<const void *, std::unique_ptr<Object>>
        retired; // handle dead, object not yet
    std::unordered_map<const void *, Dead> dead;
    std::deque<void *> quarantine; // memory of the dead, oldest first
};

Registry::State &Registry::state() {
    static auto *state = new State; // used after static destructors
    return *state;
}

Registry &Registry::get() {
    static Registry registry;
    return registry;
}

void Registry::keep(std::unique_ptr<Object> object) {
    const void *handle = object.get();
    state().dead.erase(handle);
    state().living.emplace(handle, std::move(object));
}

Object *Registry::find(const void *handle) const noexcept {
    const auto &living = state().living;
    const auto found = living.find(handle);
    return found == living.end() ? nullptr : found->second.get();
}

void Registry::destroy(Object *object) {
    end(object, false);
}

void Registry::retire(Object *object) {
    const auto found = state().living.find(object);
    if (found != state().living.end()) {
        note_end(*object, false);
        state().retired.emplace(object, std::move(found->second));
        state().living.erase(found);
    }
}

void Registry::note_end(const Object &object, bool with_context) {
    std::string description = object.describe();
    if (const Call *call = Call::current()) {
        description += std::string(", destroyed by ") + call->name() + " in call " +
                       std::to_string(call->number());
    }
    state().dead[&object] = {std::move(description), with_context};
}

void Registry::end(Object *object, bool with_context) {
    const auto retired = state().retired.find(object);
    if (retired != state().retired.end()) {
        const std::unique_ptr<Object> dying = std::move(retired->second);
        state().retired.erase(retired);
        return;
    }
    const auto found = state().living.find(object);
    if (found == state().living.end()) {
        return;
    }
    // Out of the table first: a destructor may look for itself, or destroy others.
    std::unique_ptr<Object> dying = std::move(found->second);
    state().living.erase(found);
    note_end(*dying, with_context);
}

void Registry::quarantine(void *memory) noexcept {
    State &s = state();
    s.quarantine.push_back(memory);
    if (s.quarantine.size() > remembered) {
        void *oldest = s.quarantine.front();
        s.quarantine.pop_front();
        s.dead.erase(oldest);
        ::operator delete(oldest);
    }
}

void Object::operator delete(void *memory) {
    Registry::quarantine(memory);
}

CUresult Registry::refusal(const void *handle, Kind expected, CUresult otherwise) const {
    if (const Object *other = find(handle)) {
        misuse(one_of(expected) + " was expected, this is " + other->describe());
        return otherwise;
    }
    const auto dead = state().dead.find(handle);
    if (dead == state().dead.end()) {
        char address[32];
        std::snprintf(address, sizeof address, "%p", handle);
        misuse(std::string(address) + " is no handle of " + one_of(expected));
        return otherwise;
    }
    if (dead->second.with_context) {
        // Measured: the driver answers of the others, and crashes here.
        if (expected == Kind::stream) {
            misuse("use of a stream whose context has ended: " + dead->second.description);
        }
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    }
    misuse(std::string("use of a destroyed ") + dead->second.description);
    return otherwise;
}

void Registry::each(const void *function, void (*call)(const void *, Object &)) const {
    for (auto &[handle, object] : state().living) {
        call(function, *object);
    }
}

void Registry::destroy_all_of(CUctx_st *context) {
    std::vector<Object *> bound;
    for (auto &[handle, object] : state().living) {
        if (object->context == context) {
            bound.push_back(object.get());
        }
    }
    for (auto &[handle, object] : state().retired) {
        if (object->context == context) {
            bound.push_back(object.get());
        }
    }
    for (Object *object : bound) {
        end(object, true);
    }
}

void Registry::clear() {
    std::vector<Object *> all;
    for (auto &[handle, object] : state().living) {
        all.push_back(object.get());
    }
    for (auto &[handle, object] : state().retired) {
        all.push_back(object.get());
    }
    for (Object *object : all) {
        destroy(object);
    }
}

} // namespace sim
