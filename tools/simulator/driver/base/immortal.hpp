// What outlives the program's static objects: exit handlers and other objects' destructors may use
// it.
#pragma once

#include <new>

namespace sim {

// An object that is never destroyed. It lies in place, so that making it needs no memory of the
// heap: a static variable of a function that must not fail.
template <class T>
class Immortal {
  public:
    Immortal() noexcept(noexcept(T())) { ::new (static_cast<void *>(bytes_)) T(); }
    Immortal(const Immortal &) = delete;
    Immortal &operator=(const Immortal &) = delete;

    T &operator*() noexcept { return *std::launder(reinterpret_cast<T *>(bytes_)); }
    T *operator->() noexcept { return &**this; }

  private:
    alignas(T) unsigned char bytes_[sizeof(T)];
};

} // namespace sim
