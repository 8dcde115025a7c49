// NVML: a fake one, an older fake, none, and the machine's.
#include <cushim/nvml.hpp>
#include <cushim/nvml_library.h>

#include "../../support/contains.hpp"
#include "fake.hpp"

#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using cushim::Api;
using cushim::Device;
using cushim::ErrorKind;
using cushim::Nvml;
using cushim::NvmlDevice;
using cushim::NvmlProcess;
using library_test::Fake;
using library_test::message;
using library_test::ok;
using support::contains;

static_assert(std::is_nothrow_move_constructible_v<Nvml> && !std::is_copy_constructible_v<Nvml>);
static_assert(std::is_nothrow_move_constructible_v<NvmlDevice> &&
              !std::is_copy_constructible_v<NvmlDevice>);

namespace {

// The fake, with what only it has.
struct FakeNvml : Fake {
    FakeNvml() : Fake("CUSHIM_NVML") {
        set_uuid(0, "GPU-0");
        set_uuid(1, "GPU-1");
        set_uuid(2, "MIG-2");
        set_process_count(2);
    }
    void set_uuid(int index, const std::string &uuid) const {
        function<void(int, const char *)>("fake_set_uuid")(index, uuid.c_str());
    }
    void set_process_count(unsigned int count) const {
        function<void(unsigned int)>("fake_set_process_count")(count);
    }
};

// The UUID of a device, in groups.
std::string uuid_of(Device device) {
    std::string text;
    const cushim::DeviceUuid uuid = ok(device.uuid());
    for (std::size_t index = 0; index != sizeof uuid.bytes; ++index) {
        char byte[4];
        std::snprintf(byte, sizeof byte, "%02x", uuid.bytes[index]);
        text +=
            std::string(index == 4 || index == 6 || index == 8 || index == 10 ? "-" : "") + byte;
    }
    return text;
}

} // namespace

TEST_CASE("each Nvml and NvmlDevice holds one initialisation", "[fake]") {
    const FakeNvml fake;
    {
        Nvml first = ok(Nvml::open());
        CHECK(first);
        CHECK(fake.live_objects() == 1);
        const Nvml second = ok(first.share());
        CHECK(fake.live_objects() == 2);
        NvmlDevice device = ok(first.device_at(0));
        CHECK(fake.live_objects() == 3);
        ok(first.close());
        CHECK_FALSE(first);
        ok(first.close()); // empty
        CHECK(fake.live_objects() == 2);
        // A device keeps NVML initialised.
        CHECK(std::string(ok(device.name()).c_str()) == "First GPU");
        NvmlDevice moved = std::move(device);
        CHECK_FALSE(device); // NOLINT
        CHECK(moved.native() != nullptr);
        device = std::move(moved);
        CHECK(std::string(ok(device.uuid()).c_str()) == "GPU-0");
        device = ok(second.device_at(1));
        CHECK(std::string(ok(device.uuid()).c_str()) == "GPU-1");
        CHECK(fake.live_objects() == 2);
        Nvml third = ok(Nvml::open());
        third = ok(Nvml::open());
        CHECK(fake.live_objects() == 3);
    }
    CHECK(fake.live_objects() == 0);
}

TEST_CASE("NVML reports devices by index and by UUID", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml = ok(Nvml::open());
    CHECK(ok(nvml.device_count()) == 2);
    CHECK(std::string(ok(nvml.driver_version()).c_str()) == "580.95.05");
    CHECK(std::string(ok(ok(nvml.device_by_uuid("GPU-1")).name()).c_str()) == "Second GPU");

    const auto none = nvml.device_at(7);
    CHECK(message(none) == "Nvml::device_at: NVML has no device 7; the number of devices is 2 "
                           "(nvmlDeviceGetHandleByIndex_v2: NVML_ERROR_INVALID_ARGUMENT)");
    CHECK(none.error().kind() == ErrorKind::no_device);
    const auto unknown = nvml.device_by_uuid("GPU-x");
    CHECK(message(unknown) == "Nvml::device_by_uuid: NVML has no device with the UUID \"GPU-x\" "
                              "(nvmlDeviceGetHandleByUUID: NVML_ERROR_NOT_FOUND)");
    CHECK(unknown.error().kind() == ErrorKind::no_device);
    CHECK(message(nvml.device_by_uuid(nullptr)) == "Nvml::device_by_uuid: the UUID is null");
}

TEST_CASE("a CUDA device is found by its UUID, as a GPU or as a MIG instance", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml = ok(Nvml::open());
    const Device device = ok(Device::get(0));
    const std::string uuid = uuid_of(device);
    fake.set_uuid(1, "GPU-" + uuid);
    CHECK(std::string(ok(ok(nvml.device(device)).name()).c_str()) == "Second GPU");

    fake.set_uuid(1, "GPU-1");
    fake.set_uuid(2, "MIG-" + uuid);
    const NvmlDevice instance = ok(nvml.device(device));
    CHECK(std::string(ok(instance.uuid()).c_str()) == "MIG-" + uuid);
    CHECK(ok(instance.is_mig_instance()));
    const NvmlDevice gpu = ok(instance.parent());
    CHECK(std::string(ok(gpu.uuid()).c_str()) == "GPU-1");
    CHECK_FALSE(ok(gpu.is_mig_instance()));
    CHECK(contains(message(gpu.parent()), "NvmlDevice::parent: "));

    fake.set_uuid(2, "MIG-2");
    const auto none = nvml.device(device);
    CHECK(message(none) == "Nvml::device: NVML has no device with the UUID of CUDA device 0, GPU-" +
                               uuid + " (nvmlDeviceGetHandleByUUID: NVML_ERROR_NOT_FOUND)");
    CHECK(none.error().kind() == ErrorKind::no_device);
}

TEST_CASE("NVML reports memory, utilization, temperature and processes", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml = ok(Nvml::open());
    const NvmlDevice device = ok(nvml.device_at(0));
    const cushim::NvmlMemory memory = ok(device.memory());
    CHECK(memory.total_bytes == 80ULL << 30);
    CHECK(memory.free_bytes == 79ULL << 30);
    CHECK(memory.used_bytes == 1ULL << 30);
    const cushim::NvmlUtilization utilization = ok(device.utilization());
    CHECK(utilization.gpu_percent == 70);
    CHECK(utilization.memory_percent == 20);
    CHECK(ok(device.temperature_celsius()) == 41);

    NvmlProcess processes[3];
    CHECK(ok(device.compute_processes(processes, 3)) == 2);
    CHECK(processes[0].pid == 100);
    CHECK(processes[0].used_bytes == 5ULL << 20);
    CHECK(processes[0].gpu_instance == NvmlProcess::no_instance);
    CHECK(processes[0].compute_instance == NvmlProcess::no_instance);
    CHECK(processes[1].pid == 101);
    CHECK(processes[1].used_bytes == NvmlProcess::unknown_bytes);
    CHECK(processes[2].pid == 0);

    CHECK(ok(device.compute_processes(nullptr, 0)) == 2);
    CHECK(message(device.compute_processes(nullptr, 1)) ==
          "NvmlDevice::compute_processes: the array is null, but its size is 1");
    NvmlProcess one[1];
    CHECK(ok(device.graphics_processes(one, 1)) == 2);
    CHECK(one[0].pid == 100);
    // More than fit into the first array.
    fake.reset();
    fake.set_process_count(70);
    CHECK(ok(device.graphics_processes(one, 1)) == 70);
    CHECK(fake.calls() == "nvmlDeviceGetGraphicsRunningProcesses_v2 32\n"
                          "nvmlDeviceGetGraphicsRunningProcesses_v2 64\n"
                          "nvmlDeviceGetGraphicsRunningProcesses_v2 128\n");
    fake.set_process_count(0);
    CHECK(ok(device.compute_processes(one, 1)) == 0);
}

TEST_CASE("what a MIG instance lacks, its GPU may have", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml = ok(Nvml::open());
    const NvmlDevice instance = ok(nvml.device_by_uuid("MIG-2"));
    const auto rates = instance.utilization();
    CHECK(message(rates) == "NvmlDevice::utilization: NVML does not report this for a MIG "
                            "instance; its GPU, NvmlDevice::parent(), may support it "
                            "(nvmlDeviceGetUtilizationRates: NVML_ERROR_NOT_SUPPORTED)");
    CHECK(rates.error().kind() == ErrorKind::not_supported_by_device);
    CHECK(ok(ok(instance.parent()).utilization()).gpu_percent == 70);
    CHECK(ok(instance.memory()).total_bytes != 0);
}

TEST_CASE("a failed call names the function, the status and NVML's description", "[fake]") {
    const FakeNvml fake;
    struct Case {
        int status;
        ErrorKind kind;
        const char *message;
    };
    for (const Case &each : {
             Case{3, ErrorKind::not_supported_by_device,
                  "Nvml::open: Not Supported (nvmlInit_v2: NVML_ERROR_NOT_SUPPORTED)"},
             Case{4, ErrorKind::not_permitted,
                  "Nvml::open: The Fake's Description (nvmlInit_v2: NVML_ERROR_NO_PERMISSION)"},
             Case{9, ErrorKind::status,
                  "Nvml::open: the NVIDIA driver's kernel module is not loaded; check with "
                  "nvidia-smi; if this is a container, start it with GPU access (docker run "
                  "--gpus all) (nvmlInit_v2: NVML_ERROR_DRIVER_NOT_LOADED)"},
             Case{18, ErrorKind::status,
                  "Nvml::open: NVML and the NVIDIA driver's loaded kernel module have different "
                  "versions; restart the machine after an update of the driver (nvmlInit_v2: "
                  "NVML_ERROR_LIB_RM_VERSION_MISMATCH)"},
             Case{20, ErrorKind::out_of_memory,
                  "Nvml::open: The Fake's Description (nvmlInit_v2: NVML_ERROR_MEMORY)"},
             Case{777, ErrorKind::status,
                  "Nvml::open: The Fake's Description (nvmlInit_v2: unknown NVML status 777)"},
             Case{-5, ErrorKind::status, "Nvml::open: nvmlInit_v2: unknown NVML status -5"},
             Case{5000, ErrorKind::status, "Nvml::open: nvmlInit_v2: unknown NVML status 5000"},
         }) {
        fake.reset(1, each.status);
        const auto failed = Nvml::open();
        CHECK(message(failed) == each.message);
        CHECK(failed.error().kind() == each.kind);
        CHECK(failed.error().api() == Api::library);
        CHECK(failed.error().library() == cushim_nvml_library());
        CHECK(failed.error().status() == each.status);
    }
}

TEST_CASE("each NVML call that fails is the error, and no initialisation is left", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml = ok(Nvml::open());
    const NvmlDevice gpu = ok(nvml.device_at(0)), instance = ok(nvml.device_by_uuid("MIG-2"));
    const auto all_fail = [&](const char *function, const std::vector<std::string> &calls,
                              const auto &use) {
        const auto messages = library_test::fail_each_call(fake, 15, use);
        REQUIRE(messages.size() >= calls.size());
        for (std::size_t call = 0; call != calls.size(); ++call) {
            CHECK(messages[call] == std::string(function) + ": The Fake's Description (" +
                                        calls[call] + ": NVML_ERROR_GPU_IS_LOST)");
        }
    };
    all_fail("Nvml::device_count", {"nvmlDeviceGetCount_v2"}, [&] { return nvml.device_count(); });
    all_fail("Nvml::driver_version", {"nvmlSystemGetDriverVersion"},
             [&] { return nvml.driver_version(); });
    all_fail("Nvml::device_at", {"nvmlDeviceGetHandleByIndex_v2", "nvmlInit_v2"},
             [&] { return nvml.device_at(0); });
    all_fail("Nvml::device_by_uuid", {"nvmlDeviceGetHandleByUUID", "nvmlInit_v2"},
             [&] { return nvml.device_by_uuid("GPU-0"); });
    fake.set_uuid(2, "MIG-" + uuid_of(ok(Device::get(0))));
    all_fail("Nvml::device",
             {"nvmlDeviceGetHandleByUUID", "nvmlDeviceGetHandleByUUID", "nvmlInit_v2"},
             [&] { return nvml.device(ok(Device::get(0))); });
    all_fail("Nvml::share", {"nvmlInit_v2"}, [&] { return nvml.share(); });
    all_fail("NvmlDevice::name", {"nvmlDeviceGetName"}, [&] { return gpu.name(); });
    all_fail("NvmlDevice::uuid", {"nvmlDeviceGetUUID"}, [&] { return gpu.uuid(); });
    all_fail("NvmlDevice::memory", {"nvmlDeviceGetMemoryInfo"}, [&] { return gpu.memory(); });
    all_fail("NvmlDevice::utilization", {"nvmlDeviceGetUtilizationRates"},
             [&] { return gpu.utilization(); });
    all_fail("NvmlDevice::temperature_celsius", {"nvmlDeviceGetTemperature"},
             [&] { return gpu.temperature_celsius(); });
    all_fail("NvmlDevice::compute_processes", {"nvmlDeviceGetComputeRunningProcesses_v2"},
             [&] { return gpu.compute_processes(nullptr, 0); });
    all_fail("NvmlDevice::graphics_processes", {"nvmlDeviceGetGraphicsRunningProcesses_v2"},
             [&] { return gpu.graphics_processes(nullptr, 0); });
    all_fail("NvmlDevice::is_mig_instance", {"nvmlDeviceIsMigDeviceHandle"},
             [&] { return gpu.is_mig_instance(); });
    all_fail("NvmlDevice::parent", {"nvmlDeviceGetDeviceHandleFromMigDeviceHandle", "nvmlInit_v2"},
             [&] { return instance.parent(); });
}

TEST_CASE("close() returns the failure of nvmlShutdown, a destructor passes it to the sink",
          "[fake]") {
    const FakeNvml fake;
    const library_test::Sink sink;
    Nvml nvml = ok(Nvml::open());
    fake.reset(1, 999);
    CHECK(message(nvml.close()) ==
          "Nvml::close: The Fake's Description (nvmlShutdown: NVML_ERROR_UNKNOWN)");
    CHECK_FALSE(nvml);
    CHECK(sink.failures.empty());
    {
        const Nvml other = ok(Nvml::open());
        fake.reset(1, 4); // CUDA_ERROR_DEINITIALIZED has this number
    }
    CHECK(sink.failures == std::vector<std::string>{"nvmlShutdown 4"});
}

TEST_CASE("calls of an empty Nvml or NvmlDevice are invalid", "[fake]") {
    const FakeNvml fake;
    const Nvml nvml;
    const NvmlDevice device;
    CHECK(device.native() == nullptr);
    const std::string no_nvml = ": the Nvml is empty";
    CHECK(message(nvml.share()) == "Nvml::share" + no_nvml);
    CHECK(message(nvml.device_count()) == "Nvml::device_count" + no_nvml);
    CHECK(message(nvml.device_at(0)) == "Nvml::device_at" + no_nvml);
    CHECK(message(nvml.device(Device::from_native(0))) == "Nvml::device" + no_nvml);
    CHECK(message(nvml.device_by_uuid("GPU-0")) == "Nvml::device_by_uuid" + no_nvml);
    CHECK(message(nvml.driver_version()) == "Nvml::driver_version" + no_nvml);
    const std::string no_device = ": the NvmlDevice is empty";
    CHECK(message(device.name()) == "NvmlDevice::name" + no_device);
    CHECK(message(device.uuid()) == "NvmlDevice::uuid" + no_device);
    CHECK(message(device.memory()) == "NvmlDevice::memory" + no_device);
    CHECK(message(device.utilization()) == "NvmlDevice::utilization" + no_device);
    CHECK(message(device.temperature_celsius()) == "NvmlDevice::temperature_celsius" + no_device);
    CHECK(message(device.compute_processes(nullptr, 0)) ==
          "NvmlDevice::compute_processes" + no_device);
    CHECK(message(device.graphics_processes(nullptr, 0)) ==
          "NvmlDevice::graphics_processes" + no_device);
    CHECK(message(device.is_mig_instance()) == "NvmlDevice::is_mig_instance" + no_device);
    CHECK(message(device.parent()) == "NvmlDevice::parent" + no_device);
    CHECK(fake.calls().empty());
    CHECK(std::string(to_text(nvml).c_str()) == "Nvml(empty)");
    CHECK(std::string(to_text(device).c_str()) == "NvmlDevice(empty)");
    CHECK(std::string(to_text(ok(Nvml::open())).c_str()) == "Nvml(initialised)");
}

TEST_CASE("an older NVML lacks functions, and has no MIG instances", "[old]") {
    const Fake fake("CUSHIM_NVML");
    const Nvml nvml = ok(Nvml::open());
    const NvmlDevice device = ok(nvml.device_at(0));
    const auto processes = device.compute_processes(nullptr, 0);
    CHECK(message(processes) == "NvmlDevice::compute_processes: NVML lacks the entry point "
                                "nvmlDeviceGetComputeRunningProcesses_v2");
    CHECK(processes.error().kind() == ErrorKind::symbol_not_found);
    CHECK(processes.error().library() == cushim_nvml_library());
    CHECK_FALSE(ok(device.is_mig_instance()));
    CHECK(device.parent().error().kind() == ErrorKind::symbol_not_found);
    CHECK(ok(device.memory()).total_bytes != 0);
}

TEST_CASE("without NVML, Nvml::open() says so", "[absent]") {
    const auto nvml = Nvml::open();
    CHECK(contains(message(nvml), " (Nvml::open). Hint: "));
    CHECK(contains(message(nvml), "NVML"));
    CHECK(nvml.error().kind() == ErrorKind::library_not_found);
    CHECK(nvml.error().library() == cushim_nvml_library());
}

TEST_CASE("NVML reports the machine's GPU", "[real_nvml]") {
    const auto nvml = Nvml::open();
    if (!nvml) {
        SKIP(nvml.error().message());
    }
    const auto device = Device::get(0);
    if (!device) {
        SKIP(device.error().message());
    }
    const NvmlDevice gpu = ok(nvml->device(*device));
    CHECK(ok(nvml->device_count()) >= 1);
    CHECK(std::string(ok(gpu.name()).c_str()) == ok(device->name()).c_str());
    const cushim::NvmlMemory memory = ok(gpu.memory());
    CHECK(memory.total_bytes >= ok(device->total_memory()));
    CHECK(memory.used_bytes <= memory.total_bytes);
    if (!ok(gpu.is_mig_instance())) {
        CHECK(ok(gpu.temperature_celsius()) < 120);
        CHECK(ok(gpu.utilization()).gpu_percent <= 100);
    }
    NvmlProcess processes[64];
    (void)ok(gpu.compute_processes(processes, 64));
}
