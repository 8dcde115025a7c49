// External memory and semaphores of Vulkan on the same GPU, without a window.
// external_semaphore_test.cpp tests the same on the simulator, which has no Vulkan.
#include "harness/scenario.hpp"
#include "support/vulkan_device.hpp"

#include <cushim/external_memory.hpp>
#include <cushim/external_semaphore.hpp>

using namespace api_test;
using namespace cushim;
using support::VulkanDevice;

namespace {

constexpr std::size_t half = 1 << 20; // bytes; Vulkan copies the first half to the second

// Both APIs on one device, and Vulkan memory that CUDA has imported.
struct Interop {
    Interop() {
        if (simulator() != nullptr) {
            SKIP("the simulated device has no Vulkan");
        }
        const Device device = ok(Device::get(0));
        std::string why_not;
        other = VulkanDevice::find(ok(device.uuid()), why_not);
        if (other == nullptr) {
            SKIP(why_not);
        }
        context = ok(Context::primary(device));
        stream = ok(Stream::create(context, {.non_blocking = true}));
        auto exported = other->export_buffer(2 * half);
        theirs = exported.buffer;
        memory = ok(ExternalMemory::import_from(
            context, ExternalMemorySource::opaque_fd(std::move(exported.fd), {.dedicated = true}),
            exported.memory_size));
        buffer = ok(memory.map_buffer(0, 2 * half));
        words = ok(buffer.as<unsigned int>());
        written = ok(words.subspan(0, words.size() / 2));
        copied = ok(words.subspan(words.size() / 2, words.size() / 2));
    }

    bool all_are(DeviceSpan<unsigned int> span, unsigned int expected) {
        std::vector<unsigned int> values(span.size());
        ok(copy(stream, std::span(values), span));
        ok(stream.synchronize());
        return values == std::vector<unsigned int>(span.size(), expected);
    }

    std::unique_ptr<VulkanDevice> other; // destroyed last
    Context context;
    Stream stream;
    vulkan::Buffer theirs = 0;
    ExternalMemory memory;
    ExternalBuffer buffer;
    DeviceSpan<unsigned int> words, written, copied;
};

constexpr vulkan::BufferCopy to_second_half{.from = 0, .to = half, .size = half};

} // namespace

TEST_CASE("Vulkan and CUDA take turns with a timeline semaphore", "[X13][X8][X9][vulkan]") {
    Interop both;
    auto exported = both.other->export_timeline();
    const vulkan::Semaphore theirs = exported.semaphore;
    const auto frame = ok(TimelineSemaphore::import_fd(both.context, std::move(exported.fd)));
    CHECK_FALSE(exported.fd);
    unsigned int turn = 0;
    for (unsigned int n = 1; n <= 3; ++n) {
        // Vulkan fills the memory after CUDA's last turn.
        both.other->fill(both.theirs, half, n, VulkanDevice::At{theirs, turn}, {theirs, turn + 1});
        // CUDA reads and writes.
        ok(frame.wait(both.stream, turn + 1));
        CHECK(both.all_are(both.written, n));
        ok(fill(both.stream, both.written, 100 + n));
        ok(frame.signal(both.stream, turn + 2));
        // Vulkan copies the words that CUDA wrote.
        both.other->copy(both.theirs, to_second_half, VulkanDevice::At{theirs, turn + 2},
                         {theirs, turn + 3});
        ok(frame.wait(both.stream, turn + 3));
        CHECK(both.all_are(both.copied, 100 + n));
        turn += 3;
    }
    both.other->wait_idle();
}

TEST_CASE("Vulkan and CUDA take turns with binary semaphores", "[X7][X13][vulkan]") {
    Interop both;
    auto to_cuda = both.other->export_binary();
    auto to_vulkan = both.other->export_binary();
    const auto drawn = ok(BinarySemaphore::import_fd(both.context, std::move(to_cuda.fd)));
    const auto computed = ok(BinarySemaphore::import_fd(both.context, std::move(to_vulkan.fd)));
    for (unsigned int n = 1; n <= 3; ++n) {
        both.other->fill(both.theirs, half, n, {}, {to_cuda.semaphore});
        ok(drawn.wait(both.stream));
        CHECK(both.all_are(both.written, n));
        ok(fill(both.stream, both.written, 200 + n));
        ok(computed.signal(both.stream));
        both.other->copy(both.theirs, to_second_half, VulkanDevice::At{to_vulkan.semaphore},
                         {to_cuda.semaphore});
        ok(drawn.wait(both.stream));
        CHECK(both.all_are(both.copied, 200 + n));
    }
    both.other->wait_idle();
}

TEST_CASE("one batch waits for a timeline and a binary semaphore of Vulkan", "[X9][vulkan]") {
    Interop both;
    auto line = both.other->export_timeline();
    auto flag = both.other->export_binary();
    const auto timeline = ok(TimelineSemaphore::import_fd(both.context, std::move(line.fd)));
    const auto binary = ok(BinarySemaphore::import_fd(both.context, std::move(flag.fd)));
    both.other->fill(both.theirs, half, 5, {}, {line.semaphore, 1});
    both.other->copy(both.theirs, to_second_half, VulkanDevice::At{line.semaphore, 1},
                     {flag.semaphore});
    ok(wait_semaphores(both.stream, {timeline.waiting(1), binary.waiting()}));
    CHECK(both.all_are(both.words, 5));
    both.other->wait_idle();
}
