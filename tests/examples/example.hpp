// Shared by the examples' main functions: options, and how a program ends.
#pragma once

#include <cushim/copy.hpp>
#include <cushim/device.hpp>

#include <cstdio>
#include <span>
#include <string_view>
#include <vector>

namespace example {

// Options for tests. --without-kernels: everything except running kernels, for the simulator.
// --require-gpu: fail without a GPU.
struct Options {
    Options(int argc, char **argv)
        : option(argc > 1 ? argv[1] : ""), with_kernels(option != "--without-kernels"),
          gpu_is_required(!with_kernels || option == "--require-gpu") {}

    const std::string_view option;
    const bool with_kernels;
    const bool gpu_is_required;
};

// These return the result of main().

inline int without_gpu(const cushim::Error &why, const Options &options) {
    std::printf("no usable GPU: %s\n", why.message());
    return options.gpu_is_required ? 1 : 0;
}

inline int status(const cushim::Result<bool> &right, const char *good = nullptr) {
    if (!right) {
        std::fprintf(stderr, "%s\n", right.error().message());
    } else if (!*right) {
        std::fprintf(stderr, "a result is wrong\n");
    } else if (good != nullptr) {
        std::printf("%s\n", good);
    }
    return right && *right ? 0 : 1;
}

// Runs an example on the first GPU, which is passed to `run` with the options.
template <class Run>
int on_first_gpu(int argc, char **argv, Run run, const char *good = nullptr) {
    const Options options(argc, argv);
    const auto device = cushim::Device::get(0);
    if (!device) {
        return without_gpu(device.error(), options);
    }
    return status(run(*device, options), good);
}

// Whether each element equals `expected` for its index.
template <class T, class Expected>
bool matches(std::span<const T> values, Expected expected) {
    for (std::size_t i = 0; i != values.size(); ++i) {
        if (values[i] != expected(i)) {
            std::fprintf(stderr, "element %zu is %g, not %g\n", i, static_cast<double>(values[i]),
                         static_cast<double>(expected(i)));
            return false;
        }
    }
    return true;
}

inline cushim::Result<bool> all_are(const cushim::Context &context, cushim::DeviceSpan<int> memory,
                                    int expected) {
    std::vector<int> values(memory.size());
    CUSHIM_TRY_VOID(cushim::copy(context, std::span(values), memory));
    return values == std::vector<int>(memory.size(), expected);
}

} // namespace example
