// A program that uses the loader only through the wrappers.
#include <cstdio>

#include <cushim/cushim.hpp>

int main() {
    const auto driver = cushim::try_driver();
    std::printf("%s\n", driver ? "there is a driver" : driver.error().message());
    return 0;
}
