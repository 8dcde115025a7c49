// sim-bugs --list | sim-bugs PROGRAM buggy|correct
#include "tools.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bugs {
namespace {

constexpr int wrong_result = 3, broken_program = 4;
bool is_wrong = false;

[[noreturn]] void fail(const char *function, int status) {
    std::fprintf(stderr, "sim-bugs: %s: %d\n", function, status);
    std::_Exit(broken_program);
}

// The host function of the kernel `fill`.
int fill_on_host(const cushim_sim_launch *launch, void *) {
    std::uint64_t address = 0;
    int count = 0, value = 0;
    std::memcpy(&address, launch->parameters[0], sizeof address);
    std::memcpy(&count, launch->parameters[1], sizeof count);
    std::memcpy(&value, launch->parameters[2], sizeof value);
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(int);
    auto *numbers = static_cast<int *>(simulator().view(address, bytes));
    if (numbers == nullptr) {
        return CUDA_ERROR_ILLEGAL_ADDRESS;
    }
    for (int i = 0; i < count; ++i) {
        numbers[i] = value;
    }
    return CUDA_SUCCESS;
}

Programs all_programs() {
    Programs programs;
    for (const auto add : {add_context_bugs, add_copy_bugs, add_error_bugs, add_graph_bugs,
                           add_kernel_bugs, add_leaks, add_lifetime_bugs, add_order_bugs,
                           add_process_bugs, add_virtual_memory_bugs, add_wrapper_bugs}) {
        add(programs);
    }
    return programs;
}

} // namespace

void check(bool right) {
    if (!right && !is_wrong) {
        is_wrong = true;
        std::fputs("sim-bugs: wrong result\n", stderr);
    }
}

void must(cudaError_t status) {
    if (status != cudaSuccess) {
        fail("a runtime call failed", status);
    }
}
void must(CUresult status) {
    if (status != CUDA_SUCCESS) {
        fail("a driver call failed", status);
    }
}

bool failed(cudaError_t status) {
    if (status != cudaSuccess) {
        std::puts(cudaGetErrorString(status));
    }
    return status != cudaSuccess;
}
bool failed(CUresult status) {
    if (status != CUDA_SUCCESS) {
        const char *text = "";
        ignore(cuGetErrorString(status, &text));
        std::puts(text);
    }
    return status != CUDA_SUCCESS;
}

const cushim_sim &simulator() {
    static const cushim_sim *const found = cushim_sim_find();
    if (found == nullptr) {
        fail("the driver is not simulated", 0);
    }
    return *found;
}

void plan_fault(const std::string &fault) {
    if (simulator().configure(("fault=" + fault).c_str()) != 0) {
        fail(simulator().problem(), 0);
    }
}

int run(int count, char **arguments) {
    const Programs programs = all_programs();
    if (count == 2 && arguments[1] == std::string("--list")) {
        for (const auto &[name, program] : programs) {
            std::puts(name.c_str());
        }
        return 0;
    }
    const auto program = programs.find(count == 3 ? arguments[1] : "");
    if (program == programs.end()) {
        std::fputs("usage: sim-bugs --list | sim-bugs PROGRAM buggy|correct\n", stderr);
        return 2;
    }
    simulator().register_kernel("fill", fill_on_host, nullptr);
    simulator().register_kernel("sample", nullptr, nullptr); // computes nothing
    program->second(arguments[2] == std::string("buggy"));
    return is_wrong ? wrong_result : 0;
}

} // namespace bugs

int main(int count, char **arguments) {
    return bugs::run(count, arguments);
}
