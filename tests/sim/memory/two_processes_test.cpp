// IPC memory of two real processes, which may die. The hidden test cases run in the second process.
#ifndef _WIN32
#include "base/checks.hpp"
#include "images.hpp"
#include "launch_tools.hpp"
#include "process_tools.hpp"

#include <chrono>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace sim_test;

TEST_CASE("child exports memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Filled memory(parent.receive<std::size_t>(), 1);
    parent.send(handle_of(memory));
    parent.await();
    CHECK(byte_at(memory) == 2);
}

TEST_CASE("child opens memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto handle = parent.receive<CUipcMemHandle>();
    const auto memory = opened(handle);
    CHECK(byte_at(memory) == 1);
    set_byte(memory, 2);
    close_memory(memory);
    parent.signal();
}

TEST_CASE("a process reads and writes memory of another process") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    const std::size_t size = GENERATE(1, 100, 5000, 3 << 20, 40 << 20);
    start(mode);
    SECTION("memory of the child") {
        Child child("child exports memory", mode);
        child.channel().send(size);
        const auto memory = opened(child.channel().receive<CUipcMemHandle>());
        CHECK(byte_at(memory) == 1);
        CHECK(byte_at(memory + size - 1) == 1);
        std::size_t bytes = 0;
        CHECK(got<CUdeviceptr>(&Driver::cuMemGetAddressRange, out, &bytes, memory) == memory);
        CHECK(bytes == size);
        unsigned char value = 0;
        CHECK(driver().cuMemcpyDtoH(&value, memory + size, 1) == invalid);
        set_byte(memory, 2);
        close_memory(memory);
        child.channel().signal();
        ended(child);
    }
    SECTION("memory of the parent") {
        const Filled memory(size, 1);
        Child child("child opens memory", mode);
        child.channel().send(handle_of(memory));
        child.channel().await();
        CHECK(byte_at(memory) == 2);
        ended(child);
    }
}

TEST_CASE("the handle of an interior pointer opens at the base of the allocation") {
    const Filled memory(1000, 1);
    Child child("child opens memory");
    child.channel().send(handle_of(memory + 500));
    child.channel().await();
    CHECK(byte_at(memory) == 2);
    CHECK(byte_at(memory + 500) == 1);
    ended(child);
}

TEST_CASE("child exports on request", "[.]") {
    start();
    auto parent = Channel::of_parent();
    std::vector<CUdeviceptr> all;
    for (char request = parent.receive<char>(); request != 'q'; request = parent.receive<char>()) {
        if (request == 'a') {
            all.push_back(allocated(4096, static_cast<int>(all.size()) + 1));
            parent.send(handle_of(all.back()));
            continue;
        }
        if (request == 'r') { // resets its device
            require_ok(driver().cuDevicePrimaryCtxReset(0));
            expect_ended(std::vector<std::string>(all.size(), "device memory"));
            all.clear();
        } else {
            release(all.back());
            all.pop_back();
        }
        if (request == 'F') {
            expect_misuse("has it open by its IPC handle");
        }
        parent.signal();
    }
    for (const CUdeviceptr memory : all) {
        release(memory);
    }
}

namespace {

// A child that allocates and exports on request, and ends with the scope.
class Exporter : public Child {
  public:
    explicit Exporter(const std::string &settings = "")
        : Child("child exports on request", settings) {}
    ~Exporter() {
        if (lives) {
            channel().send('q');
            CHECK(passed());
        }
    }
    CUipcMemHandle allocate() {
        channel().send('a');
        return channel().receive<CUipcMemHandle>();
    }
    // 'f' frees the last allocation, 'F' does so although it is open, 'r' resets the device.
    void request(char what) {
        channel().send(what);
        channel().await();
    }

    bool lives = true;
};

} // namespace

TEST_CASE("opening a handle again gives the same address, each opening is closed once") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Exporter child(mode);
    const auto handle = child.allocate();
    const auto memory = opened(handle);
    CHECK(opened(handle) == memory);
    CHECK(opened(handle) == memory);
    close_memory(memory);
    CHECK(byte_at(memory) == 1);
    close_memory(memory);
    CHECK(byte_at(memory) == 1);
    close_memory(memory);
    CHECK(reported(driver().cuIpcCloseMemHandle(memory), "cuIpcCloseMemHandle") == invalid);
    unsigned char value = 0;
    CHECK(reported(driver().cuMemcpyDtoH(&value, memory, 1), "memory of another process") ==
          invalid);

    const Opened again(handle);
    CHECK(again != memory); // addresses are never reused
    CHECK(byte_at(again) == 1);
    CHECK(reported(driver().cuIpcCloseMemHandle(again + 1), "did not return") == invalid);
}

TEST_CASE("only the exporting process may free memory, and not while it is open elsewhere") {
    Exporter child;
    const Opened memory(child.allocate());
    CHECK(leaks().size() == 1);
    CHECK(driver().cuMemFree(memory) == invalid);
    CHECK(misuses().size() == 1);
    expect_misuse("memory of another process");
    CUipcMemHandle onward;
    CHECK(driver().cuIpcGetMemHandle(&onward, memory) == invalid);
    CHECK(got<int>(&Driver::cuPointerGetAttribute, out,
                   CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, memory) == 0);
    child.request('F');
}

TEST_CASE("handles of freed memory are rejected") {
    Exporter child;
    const auto kept = child.allocate(), first = child.allocate();
    close_memory(opened(first));
    child.request('f');
    const auto second = child.allocate(); // at the place of the first one
    CHECK(std::memcmp(&first, &second, sizeof first) != 0);
    CUdeviceptr memory = 0;
    CHECK(open(memory, first) == invalid);
    close_memory(opened(second));
    close_memory(opened(kept));
    child.request('r');
    CHECK(open(memory, kept) == invalid);
    CHECK(open(memory, second) == invalid);
}

TEST_CASE("child opens memory and waits", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Opened memory(parent.receive<CUipcMemHandle>());
    parent.signal();
    parent.await();
}

TEST_CASE("memory is open in another process until that process ends") {
    const auto memory = allocated(4096, 1);
    Child child("child opens memory and waits");
    child.channel().send(handle_of(memory));
    child.channel().await();
    SECTION("the importer died and was waited for") {
        child.kill();
        release(memory); // no misuse
    }
    SECTION("the importer is a zombie") {
        child.kill_unnoticed();
        release(memory);
    }
    SECTION("the importer is alive") {
        release(memory);
        expect_misuse("has it open by its IPC handle");
        child.channel().signal();
        ended(child);
    }
}

TEST_CASE("open memory outlives its exporter") {
    Exporter child;
    const auto handle = child.allocate();
    {
        const Opened memory(handle);
        child.lives = false;
        if (GENERATE(false, true)) {
            child.kill();
        } else {
            child.kill_unnoticed(); // a zombie
        }
        CHECK(byte_at(memory) == 1);
        set_byte(memory, 9);
        CHECK(byte_at(memory) == 9);
    }
    CUdeviceptr again = 0;
    CHECK(open(again, handle) == invalid); // cannot be opened again
}

TEST_CASE("resetting a context closes the memory that it opened") {
    const auto before = open_descriptors();
    Exporter child;
    const auto handle = child.allocate();
    const auto memory = opened(handle);
    require_ok(driver().cuDevicePrimaryCtxReset(0));
    expect_ended({"memory of another process"});
    CHECK(leaks().empty());
    const PrimaryContext context(0);
    require_ok(driver().cuCtxSetCurrent(context));
    CHECK(reported(driver().cuIpcCloseMemHandle(memory), "cuIpcCloseMemHandle") == invalid);
    close_memory(opened(handle));
    CHECK(open_descriptors() == before + 1); // the channel
    child.request('f');                      // no process has it open
}

TEST_CASE("a device without peer access cannot open memory of another device") {
    start("devices=2;peers=none");
    Exporter child("devices=2;peers=none");
    const auto handle = child.allocate();
    {
        const OnDevice other(1);
        CUdeviceptr memory = 0;
        CHECK(open(memory, handle) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
    }
    close_memory(opened(handle));
}

TEST_CASE("only the device that opened memory of another process can access it") {
    start("devices=3");
    bool viewed = false;
    sim_control().register_kernel("take", note_view, &viewed);
    Exporter child("devices=3");
    const auto handle = child.allocate();
    const OnDevice second(1);
    const Opened memory(handle);
    {
        const LoadedModule module("cushim-sim-image 1\nkernel take params=8\n");
        ok(driver().cuMemsetD8(memory, 7, 16));
        CHECK(byte_at(memory) == 7);
        ok(launch_with_pointer(module.function("take"), memory));
        ok(driver().cuCtxSynchronize());
        CHECK(viewed);
        CHECK(misuses().empty());
    }
    const auto refused_on = [&](const std::string &device) {
        CHECK(driver().cuMemsetD8(memory, 8, 16) == invalid);
        expect_misuse("cuMemsetD8 on device " + device + " of memory that it cannot access");
    };
    {
        const OnDevice third(2); // has not opened it
        refused_on("2");
        require_ok(driver().cuCtxEnablePeerAccess(second.context,
                                                  0)); // peer access does not include opened memory
        refused_on("2");
        require_ok(driver().cuCtxDisablePeerAccess(second.context));
    }
    {
        const OnDevice owner(0);
        refused_on("0");
    }
    CHECK(got<int>(&Driver::cuPointerGetAttribute, out, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                   memory) == 1); // the device that opened it
}

TEST_CASE("closing memory waits for the work that uses it, in adversarial mode it is a misuse") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Exporter child(mode);
    const auto memory = opened(child.allocate());
    const auto stream = make_stream(non_blocking);
    ok(driver().cuMemsetD8Async(memory, 5, 4096, stream));
    close_memory(memory);
    if (mode.find("adversarial") != std::string::npos) {
        expect_misuse("enqueued operation needs it");
        CHECK(driver().cuStreamSynchronize(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
        sim_control().clear_misuses();
        ok(driver().cuDevicePrimaryCtxReset(0));
    } else {
        end(stream);
    }
}

TEST_CASE("a forked child that did not use the driver can open memory of its parent", "[fresh]") {
    // Like a server that forks before cuInit. The child cannot continue the test program.
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        CUipcMemHandle handle;
        bool valid = read(ends[0], &handle, sizeof handle) == sizeof handle;
        CUcontext context = nullptr;
        CUdeviceptr memory = 0;
        unsigned char value = 0;
        valid = valid && driver().cuInit(0) == CUDA_SUCCESS &&
                driver().cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
                driver().cuCtxSetCurrent(context) == CUDA_SUCCESS &&
                driver().cuIpcOpenMemHandle(&memory, handle, lazy) == CUDA_SUCCESS &&
                driver().cuMemcpyDtoH(&value, memory, 1) == CUDA_SUCCESS && value == 0x77 &&
                driver().cuIpcCloseMemHandle(memory) == CUDA_SUCCESS;
        _exit(valid ? 0 : 1);
    }
    start();
    const Filled memory(4096, 0x77);
    const auto handle = handle_of(memory);
    REQUIRE(write(ends[1], &handle, sizeof handle) == sizeof handle);
    int status = -1;
    REQUIRE(waitpid(process, &status, 0) == process);
    CHECK(status == 0);
    close(ends[0]);
    close(ends[1]);
}

TEST_CASE("exported memory survives the exit of a forked child") {
    const Filled memory(4096, 1);
    const auto handle = handle_of(memory);
    const pid_t process = fork();
    REQUIRE(process >= 0);
    if (process == 0) {
        std::exit(0); // runs static destructors
    }
    int status = -1;
    REQUIRE(waitpid(process, &status, 0) == process);
    CHECK(status == 0);
    Child child("child opens memory");
    child.channel().send(handle);
    child.channel().await();
    CHECK(byte_at(memory) == 2);
    ended(child);
}

#endif
