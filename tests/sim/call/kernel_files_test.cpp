// Kernels that a shared library registers, for programs that do not know the simulator: the setting
// kernels=FILE.
#include "../support/contains.hpp"
#include "images.hpp"
#include "registered.hpp"

#ifndef _WIN32
#include "../support/child_process.hpp"
#endif

using namespace sim_test;
using support::contains;

namespace {

std::string library() {
    const char *path = std::getenv("SIM_KERNEL_LIBRARY");
    REQUIRE(path != nullptr);
    return path;
}

std::string problem_of(const std::string &settings) {
    CHECK(sim_control().configure(settings.c_str()) == -1);
    const std::string problem = sim_control().problem();
    configure("");
    return problem;
}

// 1 + 2, by a kernel that is launched as nvcc's code launches one.
void add_as_compiled(const Registered &program) {
    float *memory = nullptr;
    REQUIRE(r.cudaMalloc(reinterpret_cast<void **>(&memory), 3 * sizeof(float)) == cudaSuccess);
    const float numbers[] = {1, 2, 0};
    REQUIRE(r.cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice) == cudaSuccess);
    float *addresses[] = {memory, memory + 1, memory + 2};
    unsigned int n = 1;
    void *arguments[] = {&addresses[0], &addresses[1], &addresses[2], &n};
    CHECK(r.cudaLaunchKernel(&program.add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr) ==
          cudaSuccess);
    float sum = 0;
    CHECK(got(r.cudaMemcpy(&sum, memory + 2, sizeof sum, cudaMemcpyDeviceToHost), sum) == 3);
    CHECK(r.cudaFree(memory) == cudaSuccess);
}

} // namespace

TEST_CASE("the header finds the simulator that cushim has loaded") {
    CHECK(cushim_sim_find() == &sim_control());
}

TEST_CASE("a shared library registers kernels") {
    start("kernels=" + library());
    const Registered program;
    add_as_compiled(program);
}

TEST_CASE("a library that is named after cuInit registers its kernels at once") {
    const Registered program;
    configure("kernels=" + library());
    add_as_compiled(program);
}

TEST_CASE("a library of kernels that is not one is refused, with the reason") {
    CHECK(contains(problem_of("kernels=/nonexistent/kernels.so"),
                   "kernels=/nonexistent/kernels.so: "));
    const std::string runtime = std::getenv("CUSHIM_RUNTIME");
    CHECK(contains(problem_of("kernels=" + runtime), "cushim_sim_kernels"));
    CHECK(contains(problem_of("kernels="), "not understood: 'kernels='"));
}

#ifndef _WIN32
namespace {

// Made by a program's static constructors, and so destroyed behind the driver's exit handler.
Registered &program_of_child() {
    static Registered program;
    return program;
}

} // namespace

TEST_CASE("child is a compiled program", "[.]") {
    add_as_compiled(program_of_child());
}

TEST_CASE("child launches an unregistered kernel", "[.]") {
    start();
    sim_control().register_kernel("mixed", nullptr, nullptr); // which is intended
    {
        const LoadedModule module;
        const auto launch = [&](const char *name) {
            void *none[6] = {};
            long long bytes[2] = {}; // as large as the largest argument
            for (void *&argument : none) {
                argument = bytes;
            }
            CHECK(d.cuLaunchKernel(module.function(name), 1, 1, 1, 1, 1, 1, 0, nullptr, none,
                                   nullptr) == good);
        };
        launch("nothing");
        launch("nothing");
        launch("mixed");
    }
    CHECK(d.cuDevicePrimaryCtxRelease(0) == good);
}

TEST_CASE("child cannot be initialised without its kernels", "[.]") {
    CHECK(d.cuInit(0) == CUDA_ERROR_UNKNOWN);
}

TEST_CASE("a compiled program that does everything right is not accused") {
    const char *often = std::getenv("CUSHIM_TEST_RUNS");
    const int runs = often != nullptr ? std::atoi(often) : 20;
    int accused = 0;
    std::string errors;
    for (int run = 0; run < runs; ++run) {
        const Outcome told =
            run_alone("child is a compiled program", "report=fail;kernels=" + library());
        if (told.status != 0 || contains(told.errors, "cushim-sim")) {
            ++accused;
            errors += told.errors;
        }
    }
    INFO(errors);
    CHECK(accused == 0);
    if (often != nullptr) {
        WARN("accused in " << accused << " of " << runs << " runs");
    }
}

TEST_CASE("kernels that computed nothing are a note, and with report=fail an error") {
    const std::string line = ": kernel nothing was launched 2 times and computed nothing: no host "
                             "function is registered for this name\n";
    const Outcome noted = run_alone("child launches an unregistered kernel", "report=1"),
                  failed = run_alone("child launches an unregistered kernel", "report=fail");
    CHECK(noted.status == 0);
    CHECK(contains(noted.errors, "cushim-sim: note" + line));
    CHECK(failed.status == 1);
    CHECK(contains(failed.errors, "cushim-sim: error" + line));
    CHECK_FALSE(contains(noted.errors, "kernel mixed"));
}

TEST_CASE("a kernel library that cannot be loaded makes cuInit fail, and the reason is printed") {
    const Outcome told =
        run_alone("child cannot be initialised without its kernels", "kernels=/nonexistent.so");
    CHECK(told.status == 0);
    CHECK(contains(told.errors, "cushim-sim: cuInit fails: kernels=/nonexistent.so: "));
}
#endif
