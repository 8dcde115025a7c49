// A buffer on the GPU that grows and keeps its contents and its address.
//
// It reserves addresses for a gigabyte and begins with a megabyte. When it is full, more memory is
// mapped after the present one: no data is copied, and pointers that kernels hold stay valid.
// Without a GPU the program prints the reason and ends.
#include <cushim/copy.hpp>
#include <cushim/growable_buffer.hpp>

#include <cstdio>
#include <numeric>
#include <vector>

#include "example.hpp"

namespace {

using cushim::Result;

constexpr std::size_t megabyte = std::size_t(1) << 20;
constexpr std::size_t room = 1024 * megabyte / sizeof(int);

// Appends `values`, as std::vector would.
Result<void> append(const cushim::Context &context, cushim::GrowableBuffer<int> &buffer,
                    const std::vector<int> &values) {
    const std::size_t before = buffer.size();
    CUSHIM_TRY_VOID(buffer.resize(before + values.size()));
    CUSHIM_TRY(const auto added, buffer.span().subspan(before, values.size()));
    return cushim::copy(context, added, values);
}

// Returns whether all results are correct.
Result<bool> run(cushim::Device device, const example::Options &) {
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(auto buffer, cushim::GrowableBuffer<int>::create(device, room));
    const CUdeviceptr address = buffer.native();
    std::vector<int> values(megabyte / sizeof(int));
    int next = 0;
    for (std::size_t appended = megabyte; appended <= 16 * megabyte; appended *= 2) {
        while (buffer.size_bytes() != appended) {
            std::iota(values.begin(), values.end(), next);
            CUSHIM_TRY_VOID(append(context, buffer, values));
            next += static_cast<int>(values.size());
        }
        std::printf("%2zu MiB of ints, in %2zu MiB of memory, %s\n", buffer.size_bytes() / megabyte,
                    buffer.mapped_bytes() / megabyte,
                    buffer.native() == address ? "at the same address" : "which moved");
    }
    CUSHIM_TRY(const auto all, buffer.to_vector());
    return example::matches<int>(all, [](std::size_t i) { return static_cast<int>(i); }) &&
           buffer.native() == address;
}

} // namespace

int main(int argc, char **argv) {
    return example::on_first_gpu(argc, argv, run, "every element is what it was");
}
