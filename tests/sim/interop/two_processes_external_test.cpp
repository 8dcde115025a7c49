// External memory and semaphores of two processes. Hidden test cases run in the second one.
#ifndef _WIN32
#include "external_tools.hpp"
#include "vmm_ranges.hpp"

using namespace sim_test;

TEST_CASE("child works on external memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    const ExternalMemory memory(parent.receive_fd(), size);
    const auto buffer = mapped(memory, 0, size);
    const Semaphore semaphore(parent.receive_fd());

    // Each frame waits for 2n - 1, adds one to the value in memory and signals 2n.
    const auto frames = parent.receive<unsigned int>();
    const Stream stream(non_blocking);
    const PinnedMemory pinned(sizeof(unsigned int));
    auto *const value = static_cast<unsigned int *>(pinned.get());
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        require_ok(wait(semaphore, 2 * frame - 1, stream));
        require_ok(driver().cuMemcpyDtoHAsync(value, buffer, sizeof *value, stream));
        require_ok(driver().cuStreamSynchronize(stream));
        ++*value;
        require_ok(driver().cuMemcpyHtoDAsync(buffer, value, sizeof *value, stream));
        require_ok(signal(semaphore, 2 * frame, stream));
        // In adversarial mode the signal runs only if a call waits for it.
        require_ok(driver().cuStreamSynchronize(stream));
    }
    release(buffer);
}

TEST_CASE("two processes take turns on external memory") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    const std::size_t size = 4096;
    const int fd = sim_control().make_memory_fd(size);
    const Theirs<unsigned int> shared(fd, size);
    Child child("child works on external memory", mode);
    auto &c = child.channel();
    c.send(size);
    c.send_fd(fd);
    c.send_fd(gate.fd);
    const unsigned int frames = 25;
    c.send(frames);
    for (unsigned int frame = 1; frame <= frames; ++frame) {
        shared[0] = 100 * frame;
        gate.set(2 * frame - 1);
        for (int i = 0; i < 20000 && gate.value() < 2 * frame; ++i) {
            std::this_thread::sleep_for(std::chrono::microseconds(200));
        }
        REQUIRE(gate.value() == 2 * frame);
        CHECK(shared[0] == 100 * frame + 1);
    }
    ended(child);
    close(fd);
}

TEST_CASE("child exports physical memory", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Mapped physical(G, exportable());
    const int fd = export_fd(physical.handle);
    parent.send_fd(fd);
    close(fd);
    parent.await(); // the other process has written to it
    CHECK(byte_at(physical.address + G - 1) == 0x3c);
}

TEST_CASE("physical memory of another process imports as external memory") {
    Child child("child exports physical memory");
    const ExternalMemory memory(child.channel().receive_fd(), G);
    const auto buffer = mapped(memory, 0, G);
    require_ok(driver().cuMemsetD8(buffer, 0x3c, G));
    require_ok(driver().cuCtxSynchronize());
    child.channel().signal();
    ended(child);
    CHECK(byte_at(buffer) == 0x3c); // although the exporter has ended
    release(buffer);
}

TEST_CASE("child waits for a binary semaphore", "[.]") {
    start();
    auto parent = Channel::of_parent();
    const Semaphore semaphore(parent.receive_fd(), binary);
    const Stream stream(non_blocking);
    for (int i = 0; i < 50; ++i) {
        require_ok(wait(semaphore, 0, stream));
        require_ok(driver().cuStreamSynchronize(stream));
        parent.signal();
    }
}

TEST_CASE("a signal of a binary semaphore ends the wait of one of two processes") {
    const auto mode = GENERATE_COPY(from_range(all_modes()));
    start(mode);
    Gate gate(0);
    Child one("child waits for a binary semaphore", mode);
    Child two("child waits for a binary semaphore", mode);
    one.channel().send_fd(gate.fd);
    two.channel().send_fd(gate.fd);
    for (int i = 0; i < 100; ++i) {
        int waited = 0;
        for (; gate.value() != 0 && waited < 30000; ++waited) {
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        REQUIRE(waited < 30000);
        gate.set(1);
    }
    ended(one);
    ended(two);
    CHECK(gate.value() == 0); // a hundred signals, a hundred waits
}
#endif
