// Looks at the arguments of every call of one entry point on its way to the library.
//
//     SpiedCall<entry::cuGraphDestroy> destroyed([](CUgraph) { ++count; });
//
// The function that looks has no captures; one object for an entry point at a time.
#pragma once

#include <cushim/override.hpp>

#include <type_traits>

namespace api_test {

template <class Entry, class Function = std::remove_pointer_t<typename Entry::pfn>>
class SpiedCall;

template <class Entry, class Status, class... Arguments>
class SpiedCall<Entry, Status(Arguments...)> {
  public:
    using Look = void (*)(Arguments...);

    explicit SpiedCall(Look look) : scope_(call) {
        look_ = look;
        original_ = scope_.original();
    }

  private:
    static Status call(Arguments... arguments) {
        look_(arguments...);
        return original_(arguments...);
    }
    // What stands in the place of an entry point that nobody has called yet finds it and calls what then stands
    // there: this again. So it is found before; where there is none, what stands there says so.
    struct Found {
        Found() { static_cast<void>(cushim::is_available<Entry>()); }
    };

    static inline Look look_ = nullptr;
    static inline typename Entry::pfn original_ = nullptr;
    Found found_;
    cushim::ScopedOverride<Entry> scope_;
};

} // namespace api_test
