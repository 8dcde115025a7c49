// Runs kernels of PTX texts on memory of the test.
#pragma once

#include "ptx/reader.hpp"
#include "ptx/run/kernel.hpp"

#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ptx_test {

using namespace sim::ptx;

// Device memory: each buffer is an extent of its own, with a gap behind it.
class TestMemory final : public Memory {
  public:
    // The address of `size` bytes of zeros.
    std::uint64_t allocate(std::size_t size) override {
        const std::uint64_t address = next_;
        next_ += (size + 0x1ff) / 0x100 * 0x100;
        bytes_[address].resize(size);
        return address;
    }
    template <class T>
    std::uint64_t allocate(std::span<const T> values) {
        const std::uint64_t address = allocate(values.size_bytes());
        std::memcpy(bytes_[address].data(), values.data(), values.size_bytes());
        return address;
    }
    template <class T>
    std::vector<T> read(std::uint64_t address) const {
        const std::vector<std::byte> &bytes = bytes_.at(address);
        std::vector<T> values(bytes.size() / sizeof(T));
        std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
        return values;
    }
    void free(std::uint64_t address) override {
        bytes_.erase(address);
        ++generation_;
    }
    std::size_t buffers() const { return bytes_.size(); }

    std::string printed; // by kernels

    Extent find(std::uint64_t address) override {
        auto place = bytes_.upper_bound(address);
        if (place == bytes_.begin()) {
            return {};
        }
        --place;
        std::vector<std::byte> &bytes = place->second;
        return address - place->first < bytes.size()
                   ? Extent{place->first, bytes.size(), bytes.data(), true}
                   : Extent{};
    }
    std::uint64_t generation() const noexcept override { return generation_; }

  private:
    std::map<std::uint64_t, std::vector<std::byte>> bytes_;
    std::uint64_t next_ = 0x7000'0000'0000, generation_ = 1;
};

inline const std::string header = ".version 9.0\n.target sm_90\n.address_size 64\n";

// A module with one kernel, "k", which is run with these parameters.
struct Run {
    std::array<unsigned int, 3> grid{1, 1, 1}, block{32, 1, 1};
    std::size_t dynamic_shared = 0;
    std::uint64_t most_branches = 200'000;
};

template <class... Parameters>
void run(TestMemory &memory, const std::string &text, const Run &how, Parameters... parameters) {
    std::vector<std::byte> bytes;
    [[maybe_unused]] const auto add = [&](auto value) {
        bytes.resize((bytes.size() + sizeof value - 1) / sizeof value * sizeof value);
        const auto *const begin = reinterpret_cast<const std::byte *>(&value);
        bytes.insert(bytes.end(), begin, begin + sizeof value);
    };
    (add(parameters), ...);
    const std::string whole = header + text;
    const Module module = read(whole, 90);
    std::uint32_t kernel = 0;
    while (!module.functions.at(kernel).kernel) {
        ++kernel;
    }
    std::map<const Variable *, std::uint64_t> variables;
    const AddressOf address_of = [&](const Variable &variable) {
        const auto [place, is_new] = variables.try_emplace(&variable);
        if (is_new) {
            std::vector<std::byte> initial(variable.size());
            const std::size_t size = size_of(variable.type);
            for (std::size_t i = 0; i < variable.initial.size(); ++i) {
                std::memcpy(initial.data() + i * size, &variable.initial[i].value, size);
            }
            place->second = memory.allocate<std::byte>(initial);
        }
        return place->second;
    };
    const std::unique_ptr<Kernel> made = make_kernel(module, kernel, address_of);
    Launch launch;
    launch.grid = how.grid;
    launch.block = how.block;
    launch.dynamic_shared = how.dynamic_shared;
    launch.most_branches = how.most_branches;
    launch.parameters = bytes;
    launch.print = [&](const std::string &text) { memory.printed += text; };
    made->run(launch, memory);
}

// The fault that a kernel ends with; "no fault" is a failure of the test.
template <class... Parameters>
KernelFault fault_of(TestMemory &memory, const std::string &text, const Run &how,
                     Parameters... parameters) {
    try {
        run(memory, text, how, parameters...);
    } catch (const KernelFault &fault) {
        return fault;
    }
    FAIL("no fault");
    return {};
}

// A kernel that stores the 32-bit value which `body` leaves in %v of each thread at out[thread].
// The body has registers %a<10>, %v (.b32), %w<10> (.b64), %h<10> (.b16), %p<10> (.pred),
// %out (.b64), and the thread's number in %t.
inline std::string kernel_of(const std::string &body, const std::string &before = "") {
    return before + R"(
.visible .entry k(.param .u64 out) {
    .reg .b32 %a<10>, %v, %t;
    .reg .b64 %w<10>, %out, %at;
    .reg .b16 %h<10>;
    .reg .pred %p<10>;
    ld.param.u64 %out, [out];
    mov.u32 %a0, %ctaid.x;
    mov.u32 %a1, %ntid.x;
    mov.u32 %a2, %tid.x;
    mad.lo.u32 %t, %a0, %a1, %a2;
)" + body + R"(
    mul.wide.u32 %at, %t, 4;
    add.u64 %at, %at, %out;
    st.global.u32 [%at], %v;
    ret;
})";
}

// The values of all threads of such a kernel.
inline std::vector<std::uint32_t> values_of(const std::string &body, const std::string &before = "",
                                            const Run &how = {}) {
    TestMemory memory;
    const std::uint64_t out =
        memory.allocate(std::size_t(4) * how.grid[0] * how.block[0] * how.block[1]);
    run(memory, kernel_of(body, before), how, out);
    return memory.read<std::uint32_t>(out);
}

} // namespace ptx_test
