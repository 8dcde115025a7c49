// Kernels of a shared library, which the setting kernels=FILE registers for programs that do not
// know the simulator.
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

// Adds 1 and 2 with a kernel that is launched as compiled CUDA code launches it.
void add_as_compiled(const Registered &program) {
    float *memory = nullptr;
    require_ok(runtime().cudaMalloc(reinterpret_cast<void **>(&memory), 3 * sizeof(float)));
    const float numbers[] = {1, 2, 0};
    require_ok(runtime().cudaMemcpy(memory, numbers, sizeof numbers, cudaMemcpyHostToDevice));
    float *addresses[] = {memory, memory + 1, memory + 2};
    unsigned int n = 1;
    void *arguments[] = {&addresses[0], &addresses[1], &addresses[2], &n};
    ok(runtime().cudaLaunchKernel(&program.add, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr));
    float sum = 0;
    CHECK(got(runtime().cudaMemcpy(&sum, memory + 2, sizeof sum, cudaMemcpyDeviceToHost), sum) ==
          3);
    ok(runtime().cudaFree(memory));
}

} // namespace

TEST_CASE("cushim_sim_find returns the simulator that cushim has loaded") {
    CHECK(cushim_sim_find() == &sim_control());
}

TEST_CASE("the setting kernels=FILE registers the kernels of a shared library") {
    start("kernels=" + library());
    const Registered program;
    add_as_compiled(program);
}

TEST_CASE("the setting kernels=FILE takes effect at once after cuInit") {
    const Registered program;
    configure("kernels=" + library());
    add_as_compiled(program);
}

TEST_CASE("a file that is not a kernel library is rejected with the reason") {
    CHECK(contains(problem_of("kernels=/nonexistent/kernels.so"),
                   "kernels=/nonexistent/kernels.so: "));
    const std::string runtime = std::getenv("CUSHIM_RUNTIME");
    CHECK(contains(problem_of("kernels=" + runtime), "cushim_sim_kernels"));
    CHECK(contains(problem_of("kernels="), "not understood: 'kernels='"));
}

#ifndef _WIN32
namespace {

// Constructed with the program's static objects, and so destroyed after the driver's exit handler.
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
    sim_control().register_kernel("mixed", nullptr, nullptr); // without a function on purpose
    {
        const LoadedModule module;
        const auto launch = [&](const char *name) {
            void *none[6] = {};
            long long bytes[2] = {}; // as large as the largest argument
            for (void *&argument : none) {
                argument = bytes;
            }
            ok(driver().cuLaunchKernel(module.function(name), 1, 1, 1, 1, 1, 1, 0, nullptr, none,
                                       nullptr));
        };
        launch("nothing");
        launch("nothing");
        launch("mixed");
    }
    ok(driver().cuDevicePrimaryCtxRelease(0));
}

TEST_CASE("child cannot be initialised without its kernels", "[.]") {
    CHECK(driver().cuInit(0) == CUDA_ERROR_UNKNOWN);
}

TEST_CASE("a correct compiled program causes no report") {
    const char *often = std::getenv("CUSHIM_TEST_RUNS");
    const int runs = often != nullptr ? std::atoi(often) : 20;
    int accused = 0;
    std::string errors;
    for (int run = 0; run < runs; ++run) {
        const Outcome outcome =
            run_alone("child is a compiled program", "report=fail;kernels=" + library());
        if (outcome.status != 0 || contains(outcome.errors, "cushim-sim")) {
            ++accused;
            errors += outcome.errors;
        }
    }
    INFO(errors);
    CHECK(accused == 0);
    if (often != nullptr) {
        WARN("reported in " << accused << " of " << runs << " runs");
    }
}

TEST_CASE("a launch of an unregistered kernel is a note, and with report=fail an error") {
    const std::string line = ": kernel nothing was launched 2 times and computed nothing: no host "
                             "function is registered for this name [";
    const Outcome noted = run_alone("child launches an unregistered kernel", "report=1"),
                  failed = run_alone("child launches an unregistered kernel", "report=fail");
    CHECK(noted.status == 0);
    CHECK(contains(noted.errors, "cushim-sim: note" + line));
    CHECK(failed.status == 1);
    CHECK(contains(failed.errors, "cushim-sim: error" + line));
    CHECK_FALSE(contains(noted.errors, "kernel mixed"));
}

TEST_CASE("cuInit fails and prints the reason if a kernel library cannot be loaded") {
    const Outcome outcome =
        run_alone("child cannot be initialised without its kernels", "kernels=/nonexistent.so");
    CHECK(outcome.status == 0);
    CHECK(contains(outcome.errors, "cushim-sim: cuInit fails: kernels=/nonexistent.so: "));
}
#endif
