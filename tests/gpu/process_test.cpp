// Forks and exits of a process that uses a real driver.
#include <catch2/catch_test_macros.hpp>

#include <cstdio>
#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

#include <cushim/detail/loader.h>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/table.hpp>

namespace {

// Runs the body in a child process and returns its exit status.
template <class Body>
int in_child(Body body) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
        const int status = body();
        std::exit(status); // runs the exit handlers, which the test needs
    }
    int status = -1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Exit handlers return what they saw as the exit status.
int seen_by_handler = 0;

int driver_status() {
    CUdevice device;
    return cushim::driver().cuDeviceGet(&device, 0);
}

} // namespace

// These tests fork before this process uses the driver.
TEST_CASE("the exit flag is set before the driver shuts down", "[gpu]") {
    // A handler registered before cuInit runs after the driver's own teardown.
    const int status = in_child([] {
        std::atexit([] {
            seen_by_handler = cushim_exiting() * 100 + driver_status();
            std::_Exit(seen_by_handler);
        });
        if (!cushim::init()) {
            return 99;
        }
        return cushim_exiting() == 0 && driver_status() == CUDA_SUCCESS ? 0 : 98;
    });
    std::printf("exit handler registered before cuInit: exiting %d, cuDeviceGet returns %d\n",
                status / 100, status % 100);
    CHECK(status == 100 + CUDA_ERROR_DEINITIALIZED);
}

TEST_CASE("an exit handler registered after init can use the driver", "[gpu]") {
    const int status = in_child([] {
        if (!cushim::init()) {
            return 99;
        }
        std::atexit([] {
            seen_by_handler = cushim_exiting() * 100 + driver_status();
            std::_Exit(seen_by_handler);
        });
        return 98;
    });
    CHECK(status == 0); // the exit flag is not set yet, and the driver works
}

TEST_CASE("the child of a process that only loaded the driver can use it", "[gpu]") {
    REQUIRE(cushim::load_driver());
    const int status = in_child([] {
        const auto ready = cushim::init();
        return ready ? driver_status() : ready.error().status();
    });
    CHECK(status == CUDA_SUCCESS);
}

TEST_CASE("CUDA calls fail in the child of a process that used the driver", "[gpu]") {
    REQUIRE(cushim::init());
    const unsigned int generation = cushim_fork_generation();
    const int status = in_child([generation] {
        if (cushim_fork_generation() == generation) {
            return 97;
        }
        const auto again = cushim::init();
        std::_Exit(again ? 98 : again.error().status());
    });
    CHECK(status == CUDA_ERROR_NOT_INITIALIZED);
    CHECK(cushim::init());
    CHECK(cushim_fork_generation() == generation);
}
