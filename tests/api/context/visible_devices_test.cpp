// The order of devices under CUDA_VISIBLE_DEVICES, in child processes.
#include "harness/devices.hpp"
#include "support/child_process.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>

using namespace api_test;
using namespace cushim;

namespace {

constexpr const char *variable = "CUDA_VISIBLE_DEVICES";

// Sets the variable, and restores it at the end.
class Visible {
  public:
    explicit Visible(const std::string &devices) {
        if (const char *const before = std::getenv(variable)) {
            before_ = before;
        }
        setenv(variable, devices.c_str(), 1);
    }
    ~Visible() {
        if (before_) {
            setenv(variable, before_->c_str(), 1);
        } else {
            unsetenv(variable);
        }
    }
    Visible(const Visible &) = delete;
    Visible &operator=(const Visible &) = delete;

  private:
    std::optional<std::string> before_;
};

// As nvidia-smi prints it.
std::string text_of(const DeviceUuid &uuid) {
    std::string text = "GPU-";
    for (std::size_t index = 0; index < sizeof uuid.bytes; ++index) {
        const bool begins_group = index == 4 || index == 6 || index == 8 || index == 10;
        char digits[4];
        std::snprintf(digits, sizeof digits, "%s%02x", begins_group ? "-" : "", uuid.bytes[index]);
        text += digits;
    }
    return text;
}

std::vector<DeviceUuid> uuids_of(const std::vector<Device> &devices) {
    std::vector<DeviceUuid> uuids;
    for (const Device device : devices) {
        uuids.push_back(ok(device.uuid()));
    }
    return uuids;
}

std::string joined(const std::vector<std::string> &parts) {
    std::string text;
    for (const std::string &part : parts) {
        text += (text.empty() ? "" : ",") + part;
    }
    return text;
}

std::string list_of(const std::vector<DeviceUuid> &uuids) {
    std::vector<std::string> parts;
    for (const DeviceUuid &uuid : uuids) {
        parts.push_back(text_of(uuid));
    }
    return joined(parts);
}

// A process with this value of the variable must have exactly these devices, in this order.
void check_devices(const std::string &visible, const std::vector<DeviceUuid> &expected) {
    INFO(variable << "=" << visible);
    const Visible set(visible);
    support::Child child("child: reports its devices", many_devices());
    REQUIRE(child.channel().receive<std::size_t>() == expected.size());
    for (std::size_t ordinal = 0; ordinal < expected.size(); ++ordinal) {
        INFO("device " << ordinal);
        CHECK(child.channel().receive<DeviceUuid>() == expected[ordinal]);
    }
    CHECK(child.passed());
}

std::vector<Device> devices_now() {
    restart(many_devices());
    return need_devices(2);
}

} // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES orders devices by their UUIDs", "[several_devices][device]") {
    auto uuids = uuids_of(devices_now());
    check_devices(list_of(uuids), uuids);
    std::reverse(uuids.begin(), uuids.end());
    check_devices(list_of(uuids), uuids);
    std::rotate(uuids.begin(), uuids.begin() + 1, uuids.end());
    check_devices(list_of(uuids), uuids);
    uuids.resize(1);
    check_devices(list_of(uuids), uuids);
}

TEST_CASE("CUDA_VISIBLE_DEVICES orders devices by their ordinals", "[several_devices][device]") {
    auto uuids = uuids_of(devices_now());
    if (std::getenv(variable) != nullptr) {
        SKIP("needs a process without CUDA_VISIBLE_DEVICES");
    }
    std::vector<std::string> ordinals;
    for (std::size_t ordinal = uuids.size(); ordinal-- > 0;) {
        ordinals.push_back(std::to_string(ordinal));
    }
    std::reverse(uuids.begin(), uuids.end());
    check_devices(joined(ordinals), uuids);
    check_devices(ordinals.front(), {uuids.front()});
}

TEST_CASE("child: reports its devices", "[.]") {
    support::Channel parent = support::Channel::of_parent();
    const auto devices = need_devices(1);
    parent.send(devices.size());
    for (const Device device : devices) {
        const DeviceUuid uuid = ok(device.uuid());
        parent.send(uuid);
        CHECK(ok(Device::by_uuid(uuid)) == device);
        const PciBusId id = ok(device.pci_bus_id());
        CHECK(ok(Device::by_pci_bus_id(id.c_str())) == device);
        const Worker worker = ok(Worker::on(device));
        CHECK(ok(worker.context.device()) == device);
        auto memory = ok(DeviceBuffer<int>::allocate(worker.context, 1000));
        ok(worker.fill(memory.span(), device.native()));
        CHECK(ok(worker.read(memory.span())) == std::vector<int>(1000, device.native()));
    }
    CHECK(misuses().empty());
}
