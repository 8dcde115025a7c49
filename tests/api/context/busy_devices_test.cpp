// Contexts of several devices under load: threads that work on all devices at the same time, one
// thread that switches between contexts, streams and events of the wrong device, memory that
// streams of another device use last, and resets beside work.
#include "harness/devices.hpp"
#include "harness/memory.hpp"
#include "support/in_threads.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

using Words = DeviceBuffer<int>;

constexpr std::size_t count = 20'000;

std::string text_of(const Result<void> &result) {
    return result ? "" : result.error().message();
}

Result<void> must_hold(const Worker &worker, DeviceSpan<const int> memory, int value) {
    CUSHIM_TRY(const auto values, worker.read(memory));
    return values == std::vector<int>(memory.size(), value)
               ? Result<void>()
               : Error::invalid_argument("another thread's values");
}

// One round of work on one device: makes and destroys a stream, events, and memory of three kinds.
Result<void> work_once(const Worker &worker, int value) {
    CUSHIM_TRY(const Stream stream, Stream::create(worker.context, {.non_blocking = true}));
    CUSHIM_TRY(const Event filled, Event::create(worker.context));
    CUSHIM_TRY(auto plain, Words::allocate(worker.context, count));
    CUSHIM_TRY(auto ordered, Words::allocate_async(stream, count));
    CUSHIM_TRY(auto pinned, PinnedBuffer<int>::allocate(worker.context, count));
    CUSHIM_TRY_VOID(worker.fill(plain.span(), value));
    CUSHIM_TRY_VOID(fill(stream, ordered.span(), value + 1));
    CUSHIM_TRY_VOID(filled.record(stream));
    CUSHIM_TRY_VOID(worker.stream.wait_event(filled));
    CUSHIM_TRY_VOID(copy(worker.stream, pinned.span(), ordered.span()));
    CUSHIM_TRY_VOID(worker.stream.synchronize());
    if (std::count(pinned.begin(), pinned.end(), value + 1) != std::ptrdiff_t(count)) {
        return Error::invalid_argument("the pinned memory has other values");
    }
    CUSHIM_TRY_VOID(must_hold(worker, plain.span(), value));
    CUSHIM_TRY(const Device device, worker.context.device());
    return device == worker.device ? Result<void>()
                                   : Error::invalid_argument("the context is of another device");
}

Result<void> work_on(Device device, int rounds, int value) {
    CUSHIM_TRY(const Worker worker, Worker::on(device));
    for (int round = 0; round < rounds; ++round) {
        CUSHIM_TRY_VOID(work_once(worker, value + 2 * round));
    }
    return {};
}

// Works on all devices in turn, with the previous device's context current.
Result<void> work_on_all(const std::vector<Device> &devices, int rounds, int value) {
    std::vector<Worker> all;
    for (const Device device : devices) {
        CUSHIM_TRY(Worker worker, Worker::on(device));
        all.push_back(std::move(worker));
    }
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t index = 0; index < all.size(); ++index) {
            const Worker &previous = all[(index + all.size() - 1) % all.size()];
            CUSHIM_TRY(const ContextScope scope, previous.context.enter());
            CUSHIM_TRY_VOID(work_once(all[index], value + 2 * round));
            CUSHIM_TRY(const Context current, Context::current());
            if (current.native() != previous.context.native()) {
                return Error::invalid_argument("another context is current");
            }
        }
    }
    return {};
}

void check_all(const std::vector<Result<void>> &results) {
    for (const Result<void> &result : results) {
        INFO(text_of(result));
        CHECK(result.has_value());
    }
}

} // namespace

TEST_CASE("several threads of each device work beside threads that visit all devices",
          "[several_devices][threads]") {
    for (const char *const order : {"", ";mode=threaded"}) {
        if (simulator() == nullptr && *order != '\0') {
            continue;
        }
        restart(many_devices(order));
        const auto devices = need_devices(2);
        register_kernels();
        constexpr unsigned int threads_each = 3, visitors = 2;
        const int rounds = simulator() != nullptr ? 10 : 50;
        const auto workers = static_cast<unsigned int>(devices.size()) * threads_each;
        std::vector<Result<void>> results(workers + visitors);
        support::in_threads(workers + visitors, [&](unsigned int index) {
            const int value = 1000 * static_cast<int>(index);
            results[index] = index < workers
                                 ? work_on(devices[index % devices.size()], rounds, value)
                                 : work_on_all(devices, rounds / 5, value);
        });
        check_all(results);
        CHECK(misuses().empty());
    }
}

TEST_CASE("wrappers work in their context, whichever context of a device is current",
          "[several_devices][context]") {
    const auto [devices, all] = many_workers();
    for (const Worker &current : all) {
        const ContextScope scope = ok(current.context.enter());
        for (const Worker &worker : all) {
            INFO("device " << worker.device.native() << " beside the current device "
                           << current.device.native());
            const ContextScope inner = ok(current.context.enter());
            ok(work_once(worker, 10 * worker.device.native()));
            CHECK(current_context() == current.context.native());
            {
                const ContextScope innermost = ok(worker.context.enter());
                CHECK(current_context() == worker.context.native());
                ok(work_once(current, 5));
            }
            CHECK(current_context() == current.context.native());
        }
    }
    CHECK(current_context() == nullptr);
    CHECK(misuses().empty());
}

TEST_CASE("streams and events of the wrong device fail with wrong_context",
          "[several_devices][context]") {
    const Workers made = many_workers();
    made.each_pair([](const Worker &here, const Worker &there) {
        const Event event = ok(Event::create(here.context)), far = ok(Event::create(there.context));
        const Event shared = ok(Event::interprocess(there.context));
        auto memory = ok(Words::allocate(here.context, 32));
        const auto kernel = ok(here.code.kernel<Fill>("fill"));
        ok(event.record(here.stream));
        ok(far.record(there.stream));
        ok(shared.record(there.stream));
        CHECK(refused(event.record(there.stream), ErrorKind::wrong_context));
        CHECK(refused(far.elapsed_since(event), ErrorKind::wrong_context));
        CHECK(refused(here.stream.wait_event(shared), ErrorKind::wrong_context));
        CHECK(refused(kernel.launch(there.stream, LaunchConfig::covering(32), memory, 1, 32u),
                      ErrorKind::wrong_context));
        ok(here.stream.wait_event(far)); // an ordinary event may be of any device
        ok(work_once(here, 1));
        ok(work_once(there, 2));
    });
}

// --- memory that a stream of another device uses last

namespace {

// Large enough that a copy takes longer than the calls.
std::size_t slow_count() {
    return simulator() != nullptr ? 20'000 : 20'000'000;
}

// The free follows the work of `stream`.
template <class Memory>
Result<void> release_after(const Worker &, Memory &memory, const Stream &stream) {
    return memory.release_after(stream);
}
// Memory of a pool is freed in its own stream.
Result<void> release_after(const Worker &owner, PoolBuffer<int> &, const Stream &stream) {
    CUSHIM_TRY(const Context context, stream.context());
    CUSHIM_TRY(const Event used, Event::create(context));
    CUSHIM_TRY_VOID(used.record(stream));
    return owner.stream.wait_event(used);
}

// Destroys `source`, memory of `owner`, while a stream of `user` copies from it, and writes to new
// memory of the same size on the same device.
template <class Source>
void check_released_after(const Worker &owner, const Worker &user, Source source) {
    const std::size_t size = source.size();
    auto target = ok(Words::allocate(user.context, size));
    ok(fill(owner.stream, source.span(), 7));
    ok(owner.stream.synchronize());
    ok(fill(user.context, target.span(), -1));
    ok(copy(user.stream, target.span(), source.span()));
    ok(release_after(owner, source, user.stream));
    CHECK(source.close());
    auto next = ok(Words::allocate(owner.context, size));
    ok(fill(owner.context, next.span(), 8));
    ok(user.stream.synchronize());
    CHECK(ok(user.read(target.span())) == std::vector<int>(size, 7));
}

} // namespace

TEST_CASE("memory is freed after the work of another device's stream", "[several_devices]") {
    for (const char *const order : {"", ";mode=threaded", ";mode=adversarial;seed=2"}) {
        if (simulator() == nullptr && *order != '\0') {
            continue;
        }
        const Workers made = many_workers(order);
        made.each_pair([](const Worker &owner, const Worker &user) {
            check_released_after(owner, user, ok(Words::allocate(owner.context, slow_count())));
        });
        made.each_pair_with_access([](const Worker &user, const Worker &owner) {
            const AccessGrant grants[] = {{owner.device, AccessFlags::read_write},
                                          {user.device, AccessFlags::read_write}};
            const MemoryPool pool = ok(MemoryPool::create(owner.device));
            ok(pool.set_access(grants));
            check_released_after(owner, user,
                                 ok(PoolBuffer<int>::allocate(pool, owner.stream, slow_count())));
            auto growing = ok(GrowableBuffer<int>::create(
                owner.device, slow_count(), {.memory = {}, .step = 0, .access = grants}));
            ok(growing.resize(slow_count()));
            check_released_after(owner, user, std::move(growing));
        });
        CHECK(misuses().empty());
    }
}

TEST_CASE("stream-ordered memory is freed in another device's stream", "[several_devices]") {
    const Workers made = many_workers();
    made.each_pair([](const Worker &owner, const Worker &other) {
        auto memory = ok(Words::allocate_async(owner.stream, count));
        ok(owner.fill(memory.span(), 3));
        ok(must_hold(owner, memory.span(), 3));
        CHECK(memory.free_async(other.stream));
        ok(other.stream.synchronize());
        auto again = ok(Words::allocate_async(owner.stream, count));
        ok(owner.fill(again.span(), 4));
        ok(must_hold(owner, again.span(), 4));
    });
    CHECK(misuses().empty());
}

// --- resets

TEST_CASE("a reset of one device does not disturb work on the others",
          "[several_devices][threads]") {
    restart(many_devices());
    const auto devices = need_devices(2);
    register_kernels();
    for (const Device device : devices) {
        INFO("reset of device " << device.native());
        std::vector<Result<void>> results(devices.size());
        std::atomic<bool> is_over = false;
        std::atomic<std::size_t> working = 0;
        std::vector<std::thread> threads;
        for (std::size_t index = 0; index < devices.size(); ++index) {
            if (devices[index] == device) {
                continue;
            }
            threads.emplace_back([&, index] {
                results[index] = [&]() -> Result<void> {
                    CUSHIM_TRY(const Worker worker, Worker::on(devices[index]));
                    CUSHIM_TRY_VOID(work_once(worker, 0));
                    ++working;
                    for (int value = 2; !is_over; value += 2) {
                        CUSHIM_TRY_VOID(work_once(worker, value));
                    }
                    return work_once(worker, 1);
                }();
                if (!results[index]) {
                    ++working; // reported at the end
                }
            });
        }
        while (working < threads.size()) {
            std::this_thread::yield();
        }
        std::vector<std::string> failures; // the threads must be joined before the test ends
        for (int round = 0; round < 2; ++round) {
            const Result<Context> held = Context::primary(device); // so that it is active
            failures.push_back(held ? "" : held.error().message());
            failures.push_back(text_of(work_on(device, 2, 100)));
            failures.push_back(text_of(Context::reset_primary(device)));
        }
        failures.push_back(text_of(work_on(device, 2, 200)));
        is_over = true;
        for (std::thread &thread : threads) {
            thread.join();
        }
        for (const std::string &failure : failures) {
            CHECK(failure == "");
        }
        check_all(results);
    }
    CHECK(misuses().empty());
}
