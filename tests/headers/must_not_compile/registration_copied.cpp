// refused: (use of|call to) deleted (function|constructor)|implicitly-deleted
#include <cushim/host_registration.hpp>

#include <utility>

void use(cushim::HostRegistration<int> &registration) {
#ifdef MISUSE
    cushim::HostRegistration<int> other = registration;
#else
    cushim::HostRegistration<int> other = std::move(registration);
#endif
}
