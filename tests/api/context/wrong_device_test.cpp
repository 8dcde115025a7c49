// Wrappers work on the device that they are passed, whichever is current: each kind is used on one
// device while the other devices hold sentinels, and while the other devices are unused.
#include "harness/devices.hpp"
#include "harness/ipc_resources.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"
#include "harness/uses.hpp"
#include "support/child_process.hpp"

#include <cstdint>
#include <memory>

using namespace api_test;
using namespace cushim;

namespace {

constexpr const char *three_devices = "devices=3";

// Memory of another device, filled with a pattern.
class Sentinel {
  public:
    explicit Sentinel(Device device)
        : device_(device), context_(ok(Context::primary(device))),
          memory_(ok(DeviceBuffer<std::uint32_t>::allocate(context_, 100'000))) {
        ok(fill(context_, memory_.span(), pattern()));
    }

    const Context &context() const { return context_; }

    std::size_t free_memory() const { return ok(context_.memory_info()).free; } // bytes

    bool is_untouched() const {
        std::vector<std::uint32_t> values(memory_.size());
        ok(copy(context_, std::span(values), memory_.span()));
        return values == std::vector<std::uint32_t>(memory_.size(), pattern());
    }

  private:
    std::uint32_t pattern() const {
        return 0xa5a50000u + static_cast<std::uint32_t>(device_.native());
    }

    Device device_;
    Context context_;
    DeviceBuffer<std::uint32_t> memory_;
};

using Sentinels = std::vector<std::unique_ptr<Sentinel>>; // one on each other device

Sentinels sentinels_beside(Device device, const std::vector<Device> &all) {
    Sentinels sentinels;
    for (const Device other : all) {
        if (other != device) {
            sentinels.push_back(std::make_unique<Sentinel>(other));
        }
    }
    return sentinels;
}

// Runs `work` twice, as drivers allocate at the first use; the second run must not change the free
// memory.
template <class Work>
void check_unharmed(const Sentinels &sentinels, const Work &work) {
    work();
    std::vector<std::size_t> before;
    for (const auto &sentinel : sentinels) {
        before.push_back(sentinel->free_memory());
    }
    work();
    for (std::size_t index = 0; index < sentinels.size(); ++index) {
        CHECK(sentinels[index]->is_untouched());
        CHECK(sentinels[index]->free_memory() == before[index]);
    }
}

// Runs `work` with a sentinel's context current, the first's and the last's, then without a current
// context. The number of runs is thus the number of devices, not its square.
template <class Work>
void do_beside(const Sentinels &sentinels, const Work &work) {
    const auto run_in = [&](const Sentinel &sentinel) {
        const ContextScope scope = ok(sentinel.context().enter());
        work();
        CHECK(current_context() == sentinel.context().native());
    };
    run_in(*sentinels.front());
    if (sentinels.size() > 1) {
        run_in(*sentinels.back());
    }
    work();
    CHECK(current_context() == nullptr);
}

// Returns whether the machine supports it.
bool run(const Use &use, const Workplace &place) {
    INFO(use.name);
    const Result<void> used = use.run(place);
    if (used) {
        return true;
    }
    INFO(used.error().message());
    CHECK(is_lack(used.error()));
    return false;
}

std::vector<Use> uses_with_own_context() {
    auto uses = all_uses();
    uses.push_back(own_context_use());
    return uses;
}

// Whether NVIDIA's runtime is used, which retains contexts; the simulated one does not.
[[maybe_unused]] bool is_runtime_used() {
    return simulator() == nullptr && load_runtime().has_value();
}

void use_all(const Workplace &place, const Sentinels &sentinels) {
    for (const Use &use : uses_with_own_context()) {
        INFO(use.name);
        do_beside(sentinels, [&] { run(use, place); });
    }
    wait_for_released_closures();
}

} // namespace

TEST_CASE("wrappers change neither the memory nor the current context of other devices",
          "[wrong_device]") {
    restart(three_devices);
    const auto devices = need_devices(2);
    register_kernels();
    for (const Device device : devices) {
        INFO("working on device " << device.native());
        const Workplace place = ok(Workplace::on(device));
        const Sentinels sentinels = sentinels_beside(device, devices);
        const Reports reports;
        check_unharmed(sentinels, [&] { use_all(place, sentinels); });
        CHECK(reports.lines().empty());
    }
    CHECK(misuses().empty());
}

#ifndef _WIN32

namespace {

// Opens, uses and closes resources that another process makes on the device.
void open_ipc_resources(support::Channel &maker, Device device) {
    const Worker worker = ok(Worker::on(device));
    maker.send(true);
    const auto message = ok(ResourceMessage::receive(maker.socket()));
    auto opened = ok(OpenedIpcResources::open(worker, message));
    ok(opened.use(worker, 8));
    ok(opened.close(worker));
}

} // namespace

TEST_CASE("opening resources of another process uses only their device", "[wrong_device]") {
    restart(three_devices);
    const auto devices = need_devices(2);
    for (const Device device : devices) {
        INFO("working on device " << device.native());
        support::Child child("child: makes resources on one device", three_devices);
        child.channel().send(device.native());
        const Sentinels sentinels = sentinels_beside(device, devices);
        const Reports reports;
        check_unharmed(sentinels, [&] {
            do_beside(sentinels, [&] { open_ipc_resources(child.channel(), device); });
        });
        child.channel().send(false);
        CHECK(child.passed());
        CHECK(reports.lines().empty());
    }
    CHECK(misuses().empty());
}

TEST_CASE("child: makes resources on one device", "[.]") {
    support::Channel parent = support::Channel::of_parent();
    const auto ordinal = parent.receive<CUdevice>();
    const auto worker = ok(Worker::on(ok(Device::get(ordinal))));
    auto resources = ok(IpcResources::make(worker));
    while (parent.receive<bool>()) {
        ok(resources.write(worker, 7));
        ok(ok(resources.to_message(worker)).send(parent.socket()));
    }
}

// In a child process, in which the other devices are unused.
TEST_CASE("wrappers do not make primary contexts of other devices active", "[wrong_device]") {
    restart(three_devices);
    const auto devices = need_devices(2);
    for (const Device device : devices) {
        INFO("working on device " << device.native());
        support::Child child("child: works on one device", three_devices);
        child.channel().send(device.native());
        CHECK(child.passed());
    }
}

TEST_CASE("child: works on one device", "[.]") {
    support::Channel parent = support::Channel::of_parent();
    const auto ordinal = parent.receive<CUdevice>();
    const auto devices = need_devices(2);
    register_kernels();
    const auto check_others = [&] {
        for (const Device other : devices) {
            INFO("device " << other.native());
            CHECK((other.native() == ordinal || !is_primary_active(other)));
        }
    };
    check_others();
    {
        const Workplace place = ok(Workplace::on(ok(Device::get(ordinal))));
        for (const Use &use : uses_with_own_context()) {
            INFO(use.name);
            run(use, place);
            CHECK(current_context() == nullptr);
            check_others();
        }
        wait_for_released_closures();
        CHECK(is_primary_active(place.device));
    }
    if (!is_runtime_used()) { // the runtime retains the contexts that it uses
        CHECK_FALSE(is_primary_active(ok(Device::get(ordinal))));
    }
    check_others();
    CHECK(leaks().empty());
    CHECK(misuses().empty());
}

#endif

// So that the tests above do not skip a use silently.
TEST_CASE("every kind of wrapper is used or reported as unavailable", "[wrong_device][uses]") {
    restart("");
    const Workplace place = ok(Workplace::on(ok(Device::get(0))));
    register_kernels();
    // A driver older than the headers may also be too old for their runtime.
    const bool is_old =
        driver_version() < headers_version() || headers_version() < Version::of(12, 3);
    for (const Use &use : uses_with_own_context()) {
        INFO(use.name);
        const Result<void> used = use.run(place);
        if (!used) {
            WARN(use.name << " left out: " << used.error().message());
            CHECK(is_lack(used.error()));
            CHECK((simulator() == nullptr || is_old));
        }
    }
    wait_for_released_closures();
    CHECK(misuses().empty());
}
