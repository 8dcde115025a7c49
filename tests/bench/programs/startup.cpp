/* A C++ program that does nothing. WITH_WRAPPERS refers to the wrappers without calling them. */
#include <stdio.h>

#include <string>

#ifdef WITH_WRAPPERS
#include <cushim/context.hpp>
#include <cushim/stream.hpp>

static bool create_stream() {
    const auto device = cushim::Device::get(0);
    const auto context = cushim::Context::primary(*device);
    return cushim::Stream::create(*context).has_value();
}
#endif

int main(int argc, char **argv) {
    if (argc < 100) {
        return 0;
    }
#ifdef WITH_WRAPPERS
    if (create_stream()) {
        return 1;
    }
#endif
    return puts(std::string(argv[0]).c_str());
}
