// What every handle points at, and the registry of all that live.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/refusal.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

struct CUctx_st;

namespace sim {

enum class Kind : unsigned char {
    context,
    stream,
    event,
    module,
    function,
    library,
    kernel,
    array,
    mipmapped_array,
    link,
    graph,
    graph_node,
    graph_exec,
    user_object,
    memory_pool,
    physical_memory,
    external_memory,
    external_semaphore,
    texture,
    surface,
    green_context,
    graphics_resource,
    texture_reference,
    surface_reference,
    memory_mapping,
    other,
};
const char *name_of(Kind kind) noexcept; // "stream"

// Base of all objects. Handles are their addresses, which are not used again until 65,536 more
// died.
struct Object {
    explicit Object(Kind kind) noexcept; // notes the call that makes it
    virtual ~Object();
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    // Into a quarantine: see Registry.
    static void operator delete(void *memory);

    const Kind kind;
    bool counted = true;         // a leak when it is still there at the end; false for owned parts
    const char *made_by = "";    // entry point
    std::uint64_t made_in = 0;   // number of the call
    CUctx_st *context = nullptr; // to which it is bound, or null
    bool retired = false;        // its handle has ended: see Registry::retire()

    std::string describe() const; // "stream 0x55… made by cuStreamCreate in call 7"
};

// Owns every object.
class Registry {
  public:
    static Registry &get();

    // Makes an object and keeps it; the registry deletes it in destroy() or at the latest in
    // clear().
    template <class T, class... Arguments>
    T *make(Arguments &&...arguments) {
        auto owned = std::make_unique<T>(std::forward<Arguments>(arguments)...);
        T *object = owned.get();
        keep(std::move(owned));
        return object;
    }
    // Ends an object's life; its handle is refused from then on, and named in the report of who
    // uses it.
    void destroy(Object *object) noexcept;
    // Ends the life of its handle only; the object stays until destroy().
    void retire(Object *object) noexcept;
    // The living object behind a handle, or null.
    Object *find(const void *handle) const noexcept;
    // What a handle is refused with that is none of a living object of this kind: `otherwise`, and
    // a misuse is noted; 709 where it went with its context, which is no misuse but of a stream.
    CUresult refusal(const void *handle, Kind expected, CUresult otherwise) const;
    // Notes a misuse where the object behind a handle was destroyed together with its context.
    void note_use_after_context(const void *handle, const char *what) const noexcept;

    void for_each(const auto &function) const {
        each(&function,
             [](const void *f, Object &o) { (*static_cast<decltype(&function)>(f))(o); });
    }
    // Destroys all objects that are bound to a context, with it.
    void destroy_all_of(CUctx_st *context) noexcept;
    void clear() noexcept;
    // Keeps the memory of a dead object for a while.
    static void quarantine(void *memory) noexcept;

  private:
    void keep(std::unique_ptr<Object> object);
    template <class Test>
    void end_all(const Test &test, bool with_context) noexcept;
    void end(Object *object, bool with_context) noexcept;
    void note_end(const Object &object, bool with_context) noexcept;
    void each(const void *function, void (*call)(const void *, Object &)) const;
    struct State;
    static State &state();
};

// The object behind a handle. T names its kind(s) as T::is(Kind). Refuses with `otherwise`: null
// and unknown handles, dead ones and those of another kind; misuse is reported.
template <class T>
T &checked(T *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE) {
    Object *object = handle ? Registry::get().find(handle) : nullptr;
    if (object == nullptr || !T::is(object->kind)) {
        refuse(handle ? Registry::get().refusal(handle, T::own_kind, otherwise) : otherwise);
    }
    return *static_cast<T *>(object);
}

} // namespace sim
