// A program that imports the module, and prints why no GPU is usable.
#include <cstdio>

#include <cushim/try.hpp>

import cushim;

cushim::Result<cushim::DeviceName> name_of_device() {
    CUSHIM_TRY(const auto device, cushim::Device::get(0));
    return device.name();
}

int main() {
    int version = 0;
    const auto status = cushim::driver().cuDriverGetVersion(&version);
    const auto name = name_of_device();
    std::printf("%d: %s\n", static_cast<int>(status), name ? "a GPU" : name.error().message());
    return name ? 1 : 0;
}
