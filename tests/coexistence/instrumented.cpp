// Compiled with ThreadSanitizer, as a user's program is whose cushim comes from a package.
#include <cushim/cushim.hpp>

#include <cstdio>
#include <thread>

namespace {

cushim::Result<void> launch() {
    CUSHIM_TRY(const auto device, cushim::Device::get(0));
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto stream, cushim::Stream::create(context));
    CUSHIM_TRY_VOID(stream.launch_host_function([] {}));
    return stream.synchronize();
}

} // namespace

int main() {
    cushim::Result<void> results[2];
    std::thread first([&] { results[0] = launch(); });
    std::thread second([&] { results[1] = launch(); });
    first.join();
    second.join();
    for (const auto &result : results) {
        std::puts(result ? "launched" : result.error().message());
    }
}
