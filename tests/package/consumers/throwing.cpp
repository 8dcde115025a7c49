// A program that catches what the library throws.
#include <cstdio>
#include <exception>

#include <cushim/cushim.hpp>

int main() {
    try {
        cushim::try_driver().value();
    } catch (const cushim::Exception &exception) {
        std::printf("cushim::Exception: %s\n", exception.what());
    }
    try {
        cushim::try_driver().value();
    } catch (const std::exception &exception) {
        std::printf("std::exception: %s\n", exception.what());
    }
    return 0;
}
