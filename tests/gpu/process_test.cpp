// What a process does around a real driver: it forks, it exits.
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include <cushim/cushim.hpp>

namespace {

// Runs the body in a child process, and returns its exit status.
template <class Body>
int in_child(Body body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int status = body();
        std::exit(status); // with the exit handlers: they are part of the test
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// What an exit handler saw goes out as the process's exit status.
int seen_by_handler = 0;

int driver_status() {
    CUdevice device;
    return cushim::driver().cuDeviceGet(&device, 0);
}

} // namespace

// Children before this process touches the driver: each is a process of its own.
TEST_CASE("the exit flag is up before the driver is down", "[gpu]") {
    // A handler registered before cuInit runs after the driver's own teardown.
    const int status = in_child([] {
        std::atexit([] {
            seen_by_handler = cushim_exiting() * 100 + driver_status();
            std::_Exit(seen_by_handler);
        });
        if (!cushim::init())
            return 99;
        return cushim_exiting() == 0 && driver_status() == CUDA_SUCCESS ? 0 : 98;
    });
    std::printf("exit handler registered before cuInit: exiting %d, cuDeviceGet answers %d\n",
                status / 100, status % 100);
    CHECK(status == 100 + CUDA_ERROR_DEINITIALIZED);
}

TEST_CASE("an exit handler registered after init still has the driver", "[gpu]") {
    const int status = in_child([] {
        if (!cushim::init())
            return 99;
        std::atexit([] {
            seen_by_handler = cushim_exiting() * 100 + driver_status();
            std::_Exit(seen_by_handler);
        });
        return 98;
    });
    CHECK(status == 0); // not exiting yet for us, and the driver answers
}

TEST_CASE("a process that only loaded the driver may fork, and use it in the child", "[gpu]") {
    REQUIRE(cushim::load_driver());
    const int status = in_child([] {
        const auto ready = cushim::init();
        return ready ? driver_status() : ready.error().status();
    });
    CHECK(status == CUDA_SUCCESS);
}

TEST_CASE("the child of a process that used the driver is told so", "[gpu]") {
    REQUIRE(cushim::init());
    const unsigned int generation = cushim_fork_generation();
    const int status = in_child([generation] {
        if (cushim_fork_generation() == generation)
            return 97;
        const auto again = cushim::init();
        std::_Exit(again ? 98 : again.error().status());
    });
    CHECK(status == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cushim::init());
    CHECK(cushim_fork_generation() == generation);
}
