// Several devices in one process: access to each other's memory, copies between them, and
// concurrent work.
#include "harness/devices.hpp"
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"

#include <catch2/generators/catch_generators.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/ipc.hpp>

#include <algorithm>
#include <string>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

// Maps one granule of physical memory of a device, without access rights.
MappedRange map_without_access(Device device) {
    const std::size_t size = ok(Granularity::of(device)).recommended;
    const auto range = ok(AddressRange::reserve(device, size));
    return ok(MappedRange::map(range, 0, ok(PhysicalMemory::create(device, size))));
}

// Settings for the simulator's orders of enqueued work; one on a GPU.
std::vector<std::string> orders() {
    std::vector<std::string> all = {many_devices()};
    if (simulator() != nullptr) {
        all.push_back(many_devices(";mode=threaded"));
        for (int seed = 1; seed <= 6; ++seed) {
            all.push_back(many_devices(";mode=adversarial;seed=" + std::to_string(seed)));
        }
    }
    return all;
}

} // namespace

// --- virtual memory

TEST_CASE("every device with access reads and writes mapped memory", "[several_devices][V10]") {
    const auto [devices, all] = workers_with_access();
    for (const Device owner : devices) {
        INFO("memory of device " << owner.native());
        const MappedRange mapped = map_without_access(owner);
        ok(mapped.set_access(grants_for(devices, owner)));
        const auto words = ok(mapped.span<int>().subspan(0, 10'000));
        for (const Worker &writer : all) {
            if (!is_accessible(writer.device, owner)) {
                continue;
            }
            INFO("written by device " << writer.device.native());
            const int value = 1000 + writer.device.native();
            ok(writer.fill(words, value));
            for (const Worker &reader : all) {
                INFO("read by device " << reader.device.native());
                if (is_accessible(reader.device, owner)) {
                    CHECK(ok(reader.read(words)) == std::vector<int>(words.size(), value));
                }
            }
        }
        ok(all[0].fill(words, 0x40400000)); // 3.0f
        const DeviceSpan<const float> floats(mapped.native(), words.size());
        for (const Worker &reader : all) {
            if (is_accessible(reader.device, owner)) {
                CHECK(ok(reader.doubled(floats)) == std::vector<float>(floats.size(), 6.0f));
            }
        }
    }
}

// Copies and fills are rejected before they start, and the contexts stay usable. The access of a
// kernel, which breaks its context, is in processes_test.cpp.
TEST_CASE("copies and fills of mapped memory without access rights fail on all devices",
          "[several_devices][V10]") {
    const auto [devices, all] = many_workers();
    const MappedRange mapped = map_without_access(devices[0]);
    const auto words = ok(mapped.span<int>().subspan(0, 100));
    for (const Worker &worker : all) {
        INFO("device " << worker.device.native());
        CHECK(ok(mapped.get_access(worker.device)) == AccessFlags::none);
        CHECK(error_of(worker.read(words)).status() == CUDA_ERROR_INVALID_VALUE);
        CHECK(error_of(fill(worker.context, words, 1)).status() == CUDA_ERROR_INVALID_VALUE);
        ok(worker.context.synchronize());
    }
    ok(mapped.set_access({devices[0], AccessFlags::read_write}));
    ok(all[0].fill(words, 5));
    CHECK(ok(all[0].read(words)) == std::vector<int>(100, 5));
    ok(mapped.set_access({devices[0], AccessFlags::none}));
    CHECK_FALSE(all[0].read(words).has_value());
    ok(mapped.set_access({devices[0], AccessFlags::read_write}));
    CHECK(ok(all[0].read(words)) == std::vector<int>(100, 5));
}

TEST_CASE("all devices with access write to a growing buffer of one device",
          "[several_devices][growable_buffer]") {
    const auto [devices, all] = workers_with_access();
    for (const Device owner : devices) {
        const auto grants = grants_for(devices, owner);
        constexpr std::size_t step = 1 << 20; // elements
        auto buffer = ok(GrowableBuffer<int>::create(owner, 8 * step,
                                                     {.memory = {}, .step = 0, .access = grants}));
        for (std::size_t part = 0; part < 4; ++part) {
            ok(buffer.resize((part + 1) * step));
            const auto added = ok(buffer.span().subspan(part * step, step));
            const Worker &writer = all[part % all.size()];
            if (is_accessible(writer.device, owner)) {
                ok(writer.fill(added, static_cast<int>(part)));
            } else {
                ok(all[static_cast<std::size_t>(owner.native())].fill(added,
                                                                      static_cast<int>(part)));
            }
        }
        const auto values = ok(all[static_cast<std::size_t>(owner.native())].read(buffer.span()));
        for (std::size_t part = 0; part < 4; ++part) {
            const auto begin = values.begin() + static_cast<std::ptrdiff_t>(part * step);
            CHECK(std::count(begin, begin + step, static_cast<int>(part)) == step);
        }
    }
}

// --- copies between devices, and kernels with peer access

TEST_CASE("memory is copied from every device to every other", "[several_devices][copy]") {
    const auto [devices, all] = many_workers();
    for (const std::size_t count : {std::size_t(1), std::size_t(1000), std::size_t(1'000'003)}) {
        const auto values = numbers(count);
        for (const Worker &from : all) {
            auto source = ok(DeviceBuffer<int>::copy_of(from.context, values));
            for (const Worker &to : all) {
                INFO(count << " elements from device " << from.device.native() << " to "
                           << to.device.native());
                auto target = ok(DeviceBuffer<int>::allocate(to.context, count));
                ok(fill(to.context, target.span(), -1));
                ok(copy(from.stream, target.span(), source.span()));
                ok(from.stream.synchronize());
                CHECK(ok(to.read(target.span())) == values);
                ok(fill(to.context, target.span(), -1));
                ok(copy(to.stream, target.span(), source.span()));
                ok(to.stream.synchronize());
                CHECK(ok(to.read(target.span())) == values);
                ok(fill(to.context, target.span(), -1));
                ok(copy(to.context, target.span(), source.span()));
                CHECK(ok(to.read(target.span())) == values);
            }
        }
    }
}

TEST_CASE("kernels write to peer memory after enable_peer_access()", "[several_devices][context]") {
    const auto [devices, all] = workers_with_access();
    for (const Worker &here : all) {
        for (const Worker &there : all) {
            if (here.device == there.device || !is_accessible(here.device, there.device)) {
                continue;
            }
            INFO("device " << here.device.native() << " in memory of " << there.device.native());
            auto memory = ok(DeviceBuffer<int>::allocate(there.context, 5000));
            ok(here.context.enable_peer_access(there.context));
            ok(here.fill(memory.span(), 77));
            ok(here.context.disable_peer_access(there.context));
            CHECK(ok(there.read(memory.span())) == std::vector<int>(5000, 77));
        }
    }
}

// --- concurrent work

namespace {

// The work of one thread. The device's context is current, as in programs that call CUDA directly.
Result<void> work(Device device, int value, const Event &go) {
    CUSHIM_TRY(const Worker worker, Worker::on(device));
    CUSHIM_TRY(const ContextScope scope, worker.context.enter());
    CUSHIM_TRY_VOID(worker.stream.wait_event(go)); // may be of another device
    CUSHIM_TRY(auto memory, DeviceBuffer<int>::allocate(worker.context, 50'000));
    for (int round = 0; round < 20; ++round) {
        CUSHIM_TRY_VOID(worker.fill(memory.span(), value + round));
        CUSHIM_TRY(const auto values, worker.read(memory.span()));
        const auto right = std::count(values.begin(), values.end(), value + round);
        if (right != 50'000) {
            return Error::invalid_argument("another thread's values");
        }
        CUSHIM_TRY(const Context current, Context::current());
        if (current.native() != worker.context.native()) {
            return Error::invalid_argument("another context is current");
        }
    }
    return {};
}

} // namespace

TEST_CASE("threads use all devices concurrently", "[several_devices][threads]") {
    const std::string order = simulator() != nullptr ? GENERATE("", ";mode=threaded") : "";
    restart(many_devices(order));
    const auto devices = need_devices(2);
    const auto first = ok(Worker::on(devices[0]));
    const Event go = ok(Event::create(first.context));
    ok(go.record(first.stream));
    const std::size_t count = std::max<std::size_t>(16, 2 * devices.size());
    std::vector<Result<void>> results(count);
    std::vector<std::thread> threads;
    for (std::size_t index = 0; index < count; ++index) {
        threads.emplace_back([&, index] {
            const Device device = devices[index % devices.size()];
            results[index] = work(device, 1000 * static_cast<int>(index), go);
        });
    }
    for (std::thread &thread : threads) {
        thread.join();
    }
    for (const Result<void> &result : results) {
        INFO((result ? "" : result.error().message()));
        CHECK(result.has_value());
    }
}

namespace {

// Each stream waits for an event of the previous device; the host waits only at the end. If a
// stream did not wait, the result would be the value of an earlier round.
void send_round(const std::string &order) {
    INFO(order);
    // Large enough that a copy takes longer than the calls.
    const std::size_t count = simulator() != nullptr ? 20'000 : 10'000'000;
    restart(order);
    const auto devices = need_devices(2);
    const auto all = workers(devices);
    std::vector<DeviceBuffer<int>> memory;
    for (const Worker &worker : all) {
        memory.push_back(ok(DeviceBuffer<int>::allocate(worker.context, count)));
    }
    Event before;
    for (int round = 1; round <= 10; ++round) {
        for (std::size_t here = 0; here < all.size(); ++here) {
            const Stream &stream = all[here].stream;
            if (before) {
                ok(stream.wait_event(before));
            }
            if (here == 0) {
                ok(fill(stream, memory[here].span(), round));
            } else {
                ok(copy(stream, memory[here].span(), memory[here - 1].span()));
            }
            before = ok(Event::create(all[here].context));
            ok(before.record(stream));
        }
    }
    ok(before.synchronize());
    CHECK(ok(all.back().read(memory.back().span())) == std::vector<int>(count, 10));
}

} // namespace

TEST_CASE("streams of several devices wait for each other's events", "[several_devices]") {
    for (const std::string &order : orders()) {
        send_round(order);
    }
}

TEST_CASE("exporting memory in a context of another device fails with wrong_context",
          "[several_devices]") {
    restart("devices=2");
    const std::vector<Device> devices = need_devices(2);
    const Context own = ok(Context::primary(devices[0]));
    const Context other = ok(Context::primary(devices[1]));
    auto buffer = ok(DeviceBuffer<int>::allocate(own, 100));
    const Error refused = error_of(IpcExport::of(other, buffer.span()));
    CHECK(refused.kind() == ErrorKind::wrong_context);
    CHECK(refused.status() == CUDA_ERROR_NOT_FOUND);
    CHECK(contains(refused.message(), "the context is of device 1; export the memory in a context "
                                      "of its own device, 0"));
    CHECK(IpcExport::of(own, buffer.span()).has_value());
}

// --- a reset destroys a stream that memory of another device must be freed after

namespace {

void reset_under_waiting_memory(bool stream_is_borrowed) {
    restart("devices=2");
    const std::vector<Device> devices = need_devices(2);
    const Worker worker = ok(Worker::on(devices[0]));
    const Context context = ok(Context::primary(devices[1]));
    const Stream owned = ok(Stream::create(context));
    const Stream stream = stream_is_borrowed ? Stream::borrow(owned.native()) : owned.share();
    auto plain = ok(DeviceBuffer<int>::allocate(worker.context, 4));
    auto ordered = ok(DeviceBuffer<int>::allocate_async(worker.stream, 4));
    auto grown = ok(GrowableBuffer<int>::create(worker.device, 4));
    ok(plain.release_after(stream));
    ok(ordered.release_after(stream));
    ok(grown.release_after(stream));
    ok(grown.resize(4));
    ok(Context::reset_primary(devices[1]));
    const auto calls = destroying_calls_in([&] {
        CHECK(plain.close());
        CHECK(ordered.close());
        CHECK(grown.close());
    });
    const std::vector<std::string> wanted{"cuMemFree_v2", "cuMemFreeAsync", "cuMemUnmap",
                                          "cuMemRelease", "cuMemAddressFree"};
    CHECK((simulator() == nullptr || calls == wanted));
    ok(worker.stream.synchronize());
    CHECK(misuses().empty());
}

} // namespace

TEST_CASE("memory does not wait for a stream whose context was reset", "[several_devices]") {
    reset_under_waiting_memory(false);
    reset_under_waiting_memory(true);
}
