// Copies and memsets of the wrong bytes.
#include "tools.hpp"

namespace bugs {
namespace {

constexpr std::size_t count = 16, bytes = count * sizeof(int);

} // namespace

void add_copy_bugs(Programs &programs) {
    programs["a copy reaches past the end"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        const int numbers[count + 1] = {};
        ignore(cudaMemcpy(memory, numbers, buggy ? bytes + sizeof(int) : bytes,
                          cudaMemcpyHostToDevice));
    };
    programs["a copy has the wrong direction"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        must(cudaMemset(memory, 1, bytes));
        int numbers[count] = {};
        ignore(cudaMemcpy(numbers, memory, bytes,
                          buggy ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost));
    };
    programs["new memory is expected to be zero"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        if (!buggy) {
            must(cudaMemset(memory, 0, bytes));
        }
        int numbers[count] = {};
        must(cudaMemcpy(numbers, memory, bytes, cudaMemcpyDeviceToHost));
        check(numbers[0] == 0);
    };
    programs["a copy is passed a count instead of bytes"] = [](bool buggy) {
        DeviceMemory memory(bytes);
        must(cudaMemset(memory, 1, bytes));
        int numbers[count] = {};
        must(cudaMemcpy(numbers, memory, buggy ? count : bytes, cudaMemcpyDeviceToHost));
        check(numbers[count - 1] == 0x01010101);
    };
    programs["a copy is passed the width as the pitch"] = [](bool buggy) {
        constexpr std::size_t width = 3 * sizeof(int), height = 2;
        void *memory = nullptr;
        std::size_t pitch = 0;
        must(cudaMallocPitch(&memory, &pitch, width, height));
        const int rows[2][3] = {{1, 2, 3}, {4, 5, 6}};
        must(cudaMemcpy2D(memory, buggy ? width : pitch, rows, width, width, height,
                          cudaMemcpyHostToDevice));
        int second[3] = {};
        must(
            cudaMemcpy(second, static_cast<char *>(memory) + pitch, width, cudaMemcpyDeviceToHost));
        check(second[0] == 4);
        must(cudaFree(memory));
    };
    programs["a memset of bytes is expected to set integers"] = [](bool buggy) {
        PrimaryContext context;
        DeviceMemory memory(bytes);
        const auto address = reinterpret_cast<CUdeviceptr>(static_cast<void *>(memory));
        if (buggy) {
            must(cuMemsetD8(address, 1, bytes));
        } else {
            must(cuMemsetD32(address, 1, count));
        }
        int numbers[count] = {};
        must(cuMemcpyDtoH(numbers, address, bytes));
        check(numbers[0] == 1);
    };
    programs["a memset of integers begins at an odd address"] = [](bool buggy) {
        PrimaryContext context;
        DeviceMemory memory(bytes);
        const auto address = reinterpret_cast<CUdeviceptr>(static_cast<void *>(memory));
        ignore(cuMemsetD32(address + (buggy ? 1 : 4), 1, 4));
    };
}

} // namespace bugs
