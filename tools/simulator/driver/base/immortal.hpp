// Objects that outlive the program's static objects, for use by exit handlers and by destructors of
// other static objects.
#pragma once

#include <new>

namespace sim {

// An object that is never destroyed. It is constructed in place, without heap memory, so a function
// that must not fail can have it as a static variable.
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
