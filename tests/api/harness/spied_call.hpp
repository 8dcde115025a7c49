// Passes the arguments of every call of an entry point to a function before the library is called.
//
//     SpiedCall<entry::cuGraphDestroy> destroyed([](CUgraph) { ++count; });
//
// The function has no captures. An entry point can have one SpiedCall at a time.
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
    static inline Look look_ = nullptr;
    static inline typename Entry::pfn original_ = nullptr;
    cushim::ScopedOverride<Entry> scope_;
};

} // namespace api_test
