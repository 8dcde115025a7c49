// Memory and semaphores that two processes share, which were started apart.
#include "harness/external.hpp"

#ifndef _WIN32
#include "harness/exported_mapping.hpp"
#include "harness/exported_memory.hpp"
#include "harness/their_semaphore.hpp"

using namespace api_test;
using namespace cushim;

TEST_CASE("child writes to memory of its parent", "[.]") {
    restart("");
    auto parent = support::Channel::of_parent();
    const auto size = parent.receive<std::size_t>();
    auto source = ExternalMemorySource::opaque_fd(UniqueFd(parent.receive_fd()));
    const Context context = primary();
    auto memory = ExternalMemory::import_from(context, std::move(source), size).value();
    auto buffer = memory.map_buffer(0, size).value();
    const auto words = buffer.as<unsigned int>().value();
    std::vector<unsigned int> values(words.size());
    copy(context, std::span(values), words).value();
    CHECK(values == std::vector<unsigned int>(words.size(), 41));
    fill(context, words, 42u).value();
    parent.signal();
    parent.await(); // it has read that, and let go of the memory
    copy(context, std::span(values), words).value();
    CHECK(values.back() == 42);
    buffer.close().value();
    memory.close().value();
}

TEST_CASE("memory is shared between two processes by a descriptor", "[X13][processes]") {
    const Context context = context_after_restart("");
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    auto own = map_own(exported.memory).value();
    const auto words = own.span<unsigned int>();
    fill(context, words, 41u).value();
    support::Child child("child writes to memory of its parent");
    child.channel().send(size);
    child.channel().send_fd(exported.fd.get());
    exported.fd.reset();
    child.channel().await();
    std::vector<unsigned int> values(words.size());
    copy(context, std::span(values), words).value();
    CHECK(values == std::vector<unsigned int>(words.size(), 42));
    own.close().value();
    exported.memory.close().value();
    child.channel().signal();
    CHECK(child.passed());
}

TEST_CASE("child takes turns with its parent", "[.]") {
    restart("");
    auto parent = support::Channel::of_parent();
    const Context context = primary();
    const auto frame = TimelineSemaphore::import_fd(context, UniqueFd(parent.receive_fd())).value();
    const Stream stream = Stream::create(context).value();
    for (unsigned int n = 1; n <= 10; ++n) {
        frame.wait(stream, 2 * n - 1).value();
        frame.signal(stream, 2 * n).value();
        stream.synchronize().value();
    }
}

TEST_CASE("two processes take turns by a timeline", "[X13][processes]") {
    need_simulator(needs_vulkan);
    const Context context = context_after_restart("");
    const TheirSemaphore theirs(0);
    support::Child child("child takes turns with its parent");
    const UniqueFd exported = theirs.exported();
    child.channel().send_fd(exported.get());
    const auto frame = TimelineSemaphore::import_fd(context, theirs.exported()).value();
    const Stream stream = Stream::create(context).value();
    for (unsigned int n = 1; n <= 10; ++n) {
        frame.signal(stream, 2 * n - 1).value();
        frame.wait(stream, 2 * n).value();
        stream.synchronize().value();
    }
    CHECK(theirs.value() == 20);
    CHECK(child.passed());
}

#else

TEST_CASE("external memory of two processes") {
    SKIP("the second process is started by POSIX calls");
}

#endif
