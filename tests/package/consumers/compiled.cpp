// A program that uses the wrappers of a further library.
#include <cstdio>

#include <cushim/nvrtc.hpp>

int main() {
    const auto version = cushim::CompiledCode::compiler_version();
    std::printf("%s\n", version ? "there is an NVRTC" : version.error().message());
    return 0;
}
