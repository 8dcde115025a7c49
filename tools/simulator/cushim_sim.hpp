// Typed host functions for kernels, on top of cushim_sim.h:
//
//   extern "C" void cushim_sim_kernels(const cushim_sim *table) {
//       const cushim::sim::Simulator sim(table);
//       sim.kernel("scale", [](std::span<float> numbers, float factor) {
//           for (float &number : numbers) {
//               number *= factor;
//           }
//       });
//   }
//
// A parameter of the function stands for a parameter of the kernel:
//
//   std::span<T>        a pointer: the memory from there to the end of its allocation; empty if the
//                       pointer is null. T may be const, and must be if the memory is mapped
//                       read-only
//   Memory<T>           the same, and access past the end fails the launch
//   T *                 the same as a plain pointer; null if the pointer is null
//   T, const T &        a value of the same size: a number, a structure, or std::uint64_t for the
//                       device address itself
//
// The first may be a const Launch &, which has the shape of the launch, the variables of the
// module, and memory at pointers that are members of structures.
//
// Errors: the launch fails with 719 (CUDA_ERROR_LAUNCH_FAILED) if the parameters differ in number
// or size, with 700 (ILLEGAL_ADDRESS) for a pointer that the kernel cannot use, and with 716
// (MISALIGNED_ADDRESS) for a misaligned one. If the function returns a number, the launch fails
// with it, unless it is 0. If the function throws, the launch fails with the status of the Failure,
// or with 719. misuses() gives the reason.
//
// Threads: host functions run in any thread that runs enqueued work, and in several at the same
// time. C++20; requires exceptions.
#ifndef CUSHIM_SIM_HPP
#define CUSHIM_SIM_HPP

#include "cushim_sim.h"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace cushim::sim {

// Thrown by a host function: the launch fails with the status, and the report has the text.
class Failure : public std::runtime_error {
  public:
    Failure(int status, const std::string &text) : std::runtime_error(text), status_(status) {}
    int status() const noexcept { return status_; }

    static constexpr int illegal_address = 700, misaligned_address = 716, launch_failed = 719;

  private:
    int status_;
};

struct Size3 {
    unsigned int x = 1, y = 1, z = 1;
};

// A thread of a launch. The members have the names that they have in device code.
struct Thread {
    Size3 gridDim, blockDim, blockIdx, threadIdx;
};

// Device memory from an address to the end of its allocation.
template <class T>
class Memory {
  public:
    Memory() = default;
    explicit Memory(std::span<T> all) : all_(all) {}

    T &operator[](std::size_t index) const {
        check(index < all_.size(), index + 1);
        return all_[index];
    }
    std::span<T> first(std::size_t count) const {
        check(count <= all_.size(), count);
        return all_.first(count);
    }
    std::span<T> all() const noexcept { return all_; }
    std::size_t size() const noexcept { return all_.size(); }

  private:
    void check(bool valid, std::size_t count) const {
        if (!valid) {
            throw Failure(Failure::illegal_address, "accesses " + std::to_string(count) +
                                                        " elements of memory that has " +
                                                        std::to_string(all_.size()));
        }
    }
    std::span<T> all_;
};

// A launch of a kernel. Valid while its host function runs.
class Launch {
  public:
    Launch(const cushim_sim &table, const cushim_sim_launch &launch)
        : table_(&table), launch_(&launch) {}

    const char *kernel() const noexcept { return launch_->kernel; }
    Size3 grid() const noexcept { return size(launch_->grid); }
    Size3 block() const noexcept { return size(launch_->block); }
    unsigned int shared_bytes() const noexcept { return launch_->shared_bytes; }
    const cushim_sim_launch &native() const noexcept { return *launch_; }

    // Calls function(Thread) for each thread, one after the other. Threads cannot wait for each
    // other: a kernel with __syncthreads() needs a loop for each part between two of them.
    template <class Function>
    void for_each_thread(const Function &function) const {
        Thread thread{grid(), block(), {}, {}};
        for_each(thread.gridDim, thread.blockIdx, [&] {
            for_each(thread.blockDim, thread.threadIdx,
                     [&] { function(static_cast<const Thread &>(thread)); });
        });
    }

    // A __constant__, __device__ or managed variable in the module of the kernel, by its name in
    // the image or a shorter one, as for kernels. Throws a Failure if the module has no such
    // variable or its size differs. T may be an array: variable<float[4]>("factors").
    template <class T>
    T &variable(const char *name) const {
        static_assert(std::is_trivially_copyable_v<T>);
        std::size_t bytes = 0;
        void *const found = table_->variable(launch_, name, &bytes);
        if (found == nullptr) {
            throw Failure(Failure::launch_failed, "");
        }
        if (bytes != sizeof(T)) {
            throw Failure(Failure::launch_failed,
                          std::string("variable ") + name + " has " + std::to_string(bytes) +
                              " bytes, its host function expects " + std::to_string(sizeof(T)));
        }
        return *static_cast<T *>(found);
    }

    // The memory from a device address to the end of its allocation; empty for address 0. Throws a
    // Failure if the kernel cannot use it.
    template <class T>
    std::span<T> memory(std::uint64_t address) const {
        std::size_t bytes = 0;
        void *const view = table_->view_rest(address, std::is_const_v<T> ? 0 : 1, &bytes);
        if (address != 0 && view == nullptr) {
            throw Failure(Failure::illegal_address, "");
        }
        if (address % alignof(T) != 0) {
            throw Failure(Failure::misaligned_address,
                          "uses an address that is not a multiple of " +
                              std::to_string(alignof(T)));
        }
        return {static_cast<T *>(view), bytes / sizeof(T)};
    }
    template <class T>
    std::span<T> memory(T *pointer) const {
        return memory<T>(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer)));
    }

    // The value of a parameter; `index` counts from 0. Throws a Failure if its size differs.
    template <class T>
    T parameter(unsigned int index) const {
        static_assert(std::is_trivially_copyable_v<T>);
        const std::size_t bytes =
            index < launch_->parameter_count ? launch_->parameter_sizes[index] : 0;
        if (bytes != sizeof(T)) {
            throw Failure(Failure::launch_failed,
                          "parameter " + std::to_string(index + 1) + " of " +
                              std::to_string(launch_->parameter_count) + " has " +
                              std::to_string(bytes) + " bytes, its host function expects " +
                              std::to_string(sizeof(T)));
        }
        std::array<std::byte, sizeof(T)> copy;
        std::memcpy(copy.data(), launch_->parameters[index], copy.size());
        return std::bit_cast<T>(copy);
    }

  private:
    static Size3 size(const unsigned int (&sizes)[3]) { return {sizes[0], sizes[1], sizes[2]}; }
    template <class Function>
    static void for_each(const Size3 &count, Size3 &at, const Function &function) {
        for (at.z = 0; at.z < count.z; ++at.z) {
            for (at.y = 0; at.y < count.y; ++at.y) {
                for (at.x = 0; at.x < count.x; ++at.x) {
                    function();
                }
            }
        }
    }

    const cushim_sim *table_;
    const cushim_sim_launch *launch_;
};

namespace detail {

// How a parameter of a kernel becomes an argument of its host function.
template <class T>
struct Argument {
    static T of(const Launch &launch, unsigned int index) { return launch.parameter<T>(index); }
};
template <class T>
struct Argument<std::span<T>> {
    static std::span<T> of(const Launch &launch, unsigned int index) {
        return launch.memory<T>(launch.parameter<std::uint64_t>(index));
    }
};
template <class T>
struct Argument<Memory<T>> {
    static Memory<T> of(const Launch &launch, unsigned int index) {
        return Memory<T>(Argument<std::span<T>>::of(launch, index));
    }
};
template <class T>
struct Argument<T *> {
    static T *of(const Launch &launch, unsigned int index) {
        return Argument<std::span<T>>::of(launch, index).data();
    }
};

template <class Result, class... Parameters>
struct HostFunction {
    const cushim_sim *table;
    std::function<Result(const Launch &, Parameters...)> function;

    static int run(const cushim_sim_launch *native, void *user) {
        const auto &self = *static_cast<const HostFunction *>(user);
        try {
            return self.call(Launch(*self.table, *native),
                             std::index_sequence_for<Parameters...>());
        } catch (const Failure &failure) {
            self.report(native, failure.what());
            return failure.status();
        } catch (const std::exception &exception) {
            self.report(native, std::string("its host function throws: ") + exception.what());
        } catch (...) {
            self.report(native, "its host function throws");
        }
        return Failure::launch_failed;
    }

  private:
    template <std::size_t... Index>
    int call(const Launch &launch, std::index_sequence<Index...>) const {
        const unsigned int count = launch.native().parameter_count;
        if (count != sizeof...(Parameters)) {
            throw Failure(Failure::launch_failed, "has " + std::to_string(count) +
                                                      " parameters, its host function expects " +
                                                      std::to_string(sizeof...(Parameters)));
        }
        std::tuple<std::remove_cvref_t<Parameters>...> arguments{
            Argument<std::remove_cvref_t<Parameters>>::of(launch, Index)...};
        if constexpr (std::is_void_v<Result>) {
            function(launch, std::get<Index>(arguments)...);
            return 0;
        } else {
            return static_cast<int>(function(launch, std::get<Index>(arguments)...));
        }
    }
    // The simulator has already reported a failure without a text.
    void report(const cushim_sim_launch *launch, const std::string &text) const {
        if (!text.empty()) {
            table->report_misuse(launch, text.c_str());
        }
    }
};

// Kept until the process ends, because work of any thread may still run the function.
inline void keep(std::shared_ptr<void> object) {
    static std::mutex mutex;
    static auto &all = *new std::vector<std::shared_ptr<void>>;
    const std::lock_guard<std::mutex> held(mutex);
    all.push_back(std::move(object));
}

} // namespace detail

// The control table of the simulator, and registration of host functions.
class Simulator {
  public:
    // The table that cushim_sim_kernels() receives or cushim_sim_find() returns, not null. Ends the
    // process with a message if the simulator is older than this header.
    explicit Simulator(const cushim_sim *table) : table_(table) {
        if (table->interface_version != CUSHIM_SIM_INTERFACE ||
            table->revision < CUSHIM_SIM_REVISION) {
            std::fprintf(stderr, "cushim_sim.hpp requires a newer simulator\n");
            std::abort();
        }
    }

    const cushim_sim *operator->() const noexcept { return table_; }

    // Registers a function object without overloads, for the kernels that cushim_sim.h names. What
    // it captures by reference must outlive the launches. Null: they compute nothing.
    template <class Function>
        requires requires(Function &function) { std::function(function); }
    void kernel(const char *name, Function function) const {
        add(name, std::function(std::move(function)));
    }
    void kernel(const char *name, std::nullptr_t) const {
        table_->register_kernel(name, nullptr, nullptr);
    }

  private:
    template <class Result, class... Parameters>
    void add(const char *name, std::function<Result(Parameters...)> function) const {
        add(name, std::function<Result(const Launch &, Parameters...)>(
                      [function = std::move(function)](const Launch &, Parameters... arguments) {
                          return function(std::forward<Parameters>(arguments)...);
                      }));
    }
    template <class Result, class... Parameters>
    void add(const char *name,
             std::function<Result(const Launch &, Parameters...)> function) const {
        static_assert((... && (!std::is_lvalue_reference_v<Parameters> ||
                               std::is_const_v<std::remove_reference_t<Parameters>>)),
                      "parameters of a kernel are values");
        using Host = detail::HostFunction<Result, Parameters...>;
        auto host = std::make_shared<Host>(Host{table_, std::move(function)});
        table_->register_kernel(name, &Host::run, host.get());
        detail::keep(std::move(host));
    }

    const cushim_sim *table_;
};

} // namespace cushim::sim

#endif
