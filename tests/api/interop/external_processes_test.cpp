// Memory and semaphores that two processes share, which were started apart.
#include "harness/external.hpp"

#ifndef _WIN32
#include "harness/exported_memory.hpp"
#include "harness/exported_mapping.hpp"
#include "harness/their_semaphore.hpp"

using namespace cushim;
using api_test::export_memory;
using api_test::map_own;
using api_test::primary;

TEST_CASE("child writes to memory of its parent", "[.]") {
    api_test::restart("");
    auto parent = sim_test::Channel::of_parent();
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
    api_test::restart("");
    const Context context = primary();
    auto exported = export_memory(1).value();
    const std::size_t size = exported.size();
    auto own = map_own(exported.memory).value();
    const auto words = own.span<unsigned int>();
    fill(context, words, 41u).value();
    sim_test::Child child("child writes to memory of its parent");
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
    api_test::restart("");
    auto parent = sim_test::Channel::of_parent();
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
    if (api_test::simulator() == nullptr) {
        SKIP(api_test::needs_vulkan);
    }
    api_test::restart("");
    const Context context = primary();
    const api_test::TheirSemaphore theirs(0);
    sim_test::Child child("child takes turns with its parent");
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
