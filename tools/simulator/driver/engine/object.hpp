// The objects behind handles, and the registry of all live objects.
#pragma once

#include "base/cuda_headers.hpp"
#include "base/linked_list.hpp"
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

// Base of all objects. Handles are their addresses, which are not reused until 65,536 more objects
// were destroyed.
struct Object {
    explicit Object(Kind kind) noexcept; // records the current call
    virtual ~Object();
    Object(const Object &) = delete;
    Object &operator=(const Object &) = delete;
    // Moves the memory into quarantine: see Registry.
    static void operator delete(void *memory);

    const Kind kind;
    bool counted = true;         // reported as a leak at exit; false for parts of objects
    const char *made_by = "";    // entry point
    std::uint64_t made_in = 0;   // number of that call
    CUctx_st *context = nullptr; // the context it is bound to, or null; set by the constructor
    const CUctx_st
        *made_in_context;         // the current one at that call, or null; may not exist any more
    bool retired = false;         // its handle is invalid: see Registry::retire()
    ListPlace<Object> of_context; // objects that are bound to the same context

    std::string describe() const; // "stream 0x55… made by cuStreamCreate in call 7"
};

// The reason of a failure, in the error log.
constexpr char discarded_by_reset[] = "A reset of the simulator has discarded this";

using BoundObjects = LinkedList<Object, &Object::of_context>;

// Owns every object.
class Registry {
  public:
    static Registry &get();

    // Creates an object. The registry owns it and deletes it in destroy(), at the latest in
    // clear().
    template <class T, class... Arguments>
    T *make(Arguments &&...arguments) {
        auto owned = std::make_unique<T>(std::forward<Arguments>(arguments)...);
        T *object = owned.get();
        keep(std::move(owned));
        return object;
    }
    // Destroys an object. Its handle is rejected afterwards, and reports of its use describe it.
    void destroy(Object *object) noexcept;
    // Invalidates the handle only; the object lives until destroy(). `with_context`: together with
    // its context.
    void retire(Object *object, bool with_context = false) noexcept;
    // The live object behind a handle, or null.
    Object *find(const void *handle) const noexcept;
    // The status for a handle that is not a live object of this kind: `otherwise`, with a misuse;
    // `after_context` if the object was destroyed with its context, which is a misuse for streams
    // only; or 709 if a reset of the simulator destroyed it.
    CUresult refusal(const void *handle, Kind expected, CUresult otherwise,
                     CUresult after_context = CUDA_ERROR_CONTEXT_IS_DESTROYED) const;
    // Whether the object was destroyed together with its context.
    bool ended_with_context(const void *handle) const noexcept;
    // Records a misuse if the object behind a handle was destroyed together with its context.
    void note_use_after_context(const void *handle, const char *what) const noexcept;

    void for_each(const auto &function) const {
        each(&function,
             [](const void *f, Object &o) { (*static_cast<decltype(&function)>(f))(o); });
    }
    // Destroys all objects that are bound to a context.
    void destroy_all_of(CUctx_st &context) noexcept;
    void clear() noexcept;
    // Keeps the memory of a destroyed object for a while.
    static void quarantine(void *memory) noexcept;

  private:
    enum class End : unsigned char { alone, with_context, by_reset };
    void keep(std::unique_ptr<Object> object);
    void end(Object *object, End how) noexcept;
    void note_end(const Object &object, End how) noexcept;
    void each(const void *function, void (*call)(const void *, Object &)) const;
    struct State;
    static State &state();
};

// The object behind a handle. T::is(Kind) defines its kinds. Null, unknown and destroyed handles
// and those of other kinds fail with `otherwise`; a misuse is recorded. See Registry::refusal().
template <class T>
T &checked(T *handle, CUresult otherwise = CUDA_ERROR_INVALID_HANDLE,
           CUresult after_context = CUDA_ERROR_CONTEXT_IS_DESTROYED) {
    Object *object = handle ? Registry::get().find(handle) : nullptr;
    if (object == nullptr || !T::is(object->kind)) {
        refuse(handle ? Registry::get().refusal(handle, T::own_kind, otherwise, after_context)
                      : otherwise);
    }
    return *static_cast<T *>(object);
}

} // namespace sim
