#include "failures.hpp"

#include "harness/simulator.hpp"
#include "support/ok.hpp"

#include <cushim/event.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/override.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>

#include <cstdio>
#include <cstdlib>

using namespace cushim;
using namespace api_test;

namespace {

// The simulator is chosen by path, so no advice is about containers in general.
void expect_init_advice(Failures &failures) {
    static int status = 0;
    const ScopedOverride<entry::cuInit> failing(
        [](unsigned int) { return static_cast<CUresult>(status); });
    struct Case {
        int status;
        const char *message;
    };
    for (const Case &each : {
             Case{999,
                  "init: the driver failed with an unknown error; it may be in a bad state after "
                  "suspend or an update: reload the kernel module nvidia_uvm or restart the "
                  "machine, and read the system log (dmesg) (cuInit: CUDA_ERROR_UNKNOWN)"},
             Case{802,
                  "init: the GPUs are not ready; on a machine with NVSwitch, start the service "
                  "nvidia-fabricmanager, in the driver's version (cuInit: "
                  "CUDA_ERROR_SYSTEM_NOT_READY)"},
             Case{808,
                  "init: the multi-process service (MPS) has its maximum number of clients; end "
                  "one (cuInit: CUDA_ERROR_MPS_MAX_CLIENTS_REACHED)"},
             Case{101, "init: invalid device ordinal (cuInit: CUDA_ERROR_INVALID_DEVICE)"},
         }) {
        status = each.status;
        failures.expect(each.message, init());
    }
    setenv("CUDA_VISIBLE_DEVICES", "0,0", 1);
    failures.expect("init: CUDA_VISIBLE_DEVICES=0,0 names a device twice, or one that the driver "
                    "rejects; correct or unset that variable (cuInit: CUDA_ERROR_INVALID_DEVICE)",
                    init());
    unsetenv("CUDA_VISIBLE_DEVICES");
}

void expect_base(Failures &failures) {
    restart("");
    {
        const ScopedOverride<entry::cuInit> none([](unsigned int) { return CUDA_ERROR_NO_DEVICE; });
        failures.expect("init: the driver found no device; check that nvidia-smi lists one "
                        "(cuInit: CUDA_ERROR_NO_DEVICE)",
                        init());
    }
    expect_init_advice(failures);
    failures.expect("configure: the search for the CUDA libraries has already begun; call "
                    "configure() before the first CUDA call",
                    configure({}));
    const std::string path(5000, 'x');
    failures.expect(
        "configure: Settings::driver_path has 5000 bytes and exceeds the limit of 3999 bytes",
        configure({.driver_path = path.c_str()}));
    failures.expect("UniqueFd::duplicate: the UniqueFd is empty", UniqueFd().duplicate());
}

void expect_device(Failures &failures) {
    restart("devices=2");
    const Device none = Device::from_native(7), device = Device::from_native(0);
    failures.expect("Device::get: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGet: CUDA_ERROR_INVALID_DEVICE)",
                    Device::get(7));
    failures.expect("Device::by_uuid: no device has the UUID "
                    "GPU-00000000-0000-0000-0000-000000000000; the number of devices is 2",
                    Device::by_uuid({}), ErrorKind::no_device);
    failures.expect(
        "Device::by_pci_bus_id: no device has the PCI bus ID \"12:34:56\"; expected a form such "
        "as 0000:3b:00.0 (cuDeviceGetByPCIBusId: CUDA_ERROR_INVALID_DEVICE)",
        Device::by_pci_bus_id("12:34:56"));
    failures.expect("Device::by_pci_bus_id: the PCI bus ID is null (cuDeviceGetByPCIBusId: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    Device::by_pci_bus_id(nullptr));
    failures.expect("Device::name: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetName: CUDA_ERROR_INVALID_DEVICE)",
                    none.name());
    failures.expect("Device::uuid: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetUuid_v2: CUDA_ERROR_INVALID_DEVICE)",
                    none.uuid());
    failures.expect("Device::pci_bus_id: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetPCIBusId: CUDA_ERROR_INVALID_DEVICE)",
                    none.pci_bus_id());
    failures.expect("Device::attribute: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetAttribute: CUDA_ERROR_INVALID_DEVICE)",
                    none.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
    failures.expect("Device::attribute: the driver has no device attribute 9999 "
                    "(cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE)",
                    device.attribute(static_cast<CUdevice_attribute>(9999)));
    failures.expect("Device::compute_capability: device 7 does not exist; the number of devices "
                    "is 2 (cuDeviceGetAttribute: CUDA_ERROR_INVALID_DEVICE)",
                    none.compute_capability());
    failures.expect("Device::total_memory: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceTotalMem_v2: CUDA_ERROR_INVALID_DEVICE)",
                    none.total_memory());
    failures.expect("Device::memory_info: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE)",
                    none.memory_info());
    failures.expect("Device::can_access: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceCanAccessPeer: CUDA_ERROR_INVALID_DEVICE)",
                    device.can_access(none));
    failures.expect("Device::peer_attribute: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetP2PAttribute: CUDA_ERROR_INVALID_DEVICE)",
                    device.peer_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, none));
    failures.expect(
        "Device::peer_attribute: the driver has no P2P attribute 99 for device 0 and its peer, "
        "device 1 (cuDeviceGetP2PAttribute: CUDA_ERROR_INVALID_VALUE)",
        device.peer_attribute(static_cast<CUdevice_P2PAttribute>(99), Device::from_native(1)));
    restart("fault=cuDeviceGetCount:1:999");
    failures.expect("Device::count: unknown error (cuDeviceGetCount: CUDA_ERROR_UNKNOWN)",
                    Device::count());
    restart("fault=cuDeviceGet:1:999");
    failures.expect("Device::all: unknown error (cuDeviceGet: CUDA_ERROR_UNKNOWN)", Device::all());
}

void expect_context(Failures &failures) {
    restart("devices=2");
    const Device none = Device::from_native(7), device = Device::from_native(0);
    failures.expect("Context::primary: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE)",
                    Context::primary(none));
    failures.expect("Context::create: flags 0xffff contain unknown bits 0xff00 (cuCtxCreate_v2: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    Context::create(device, 0xffff));
    failures.expect("Context::create: flags 0x3 contain several CU_CTX_SCHED_... flags; pass one "
                    "of them (cuCtxCreate_v2: CUDA_ERROR_INVALID_VALUE)",
                    Context::create(device, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD));
    failures.expect("Context::create: device 7 does not exist; the number of devices is 2 "
                    "(cuCtxCreate_v2: CUDA_ERROR_INVALID_DEVICE)",
                    Context::create(none));
    failures.expect("Context::adopt: the handle is null", Context::adopt(nullptr));
    failures.expect("Context::reset_primary: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxGetState: CUDA_ERROR_INVALID_DEVICE)",
                    Context::reset_primary(none));
    const Context empty, context = ok(Context::primary(device)),
                         peer = ok(Context::primary(Device::from_native(1)));
    failures.expect("Context::enter: the Context is empty", empty.enter());
    failures.expect("Context::make_current: the Context is empty", empty.make_current());
    failures.expect("Context::device: the Context is empty", empty.device());
    failures.expect("Context::synchronize: the Context is empty", empty.synchronize());
    failures.expect("Context::flags: the Context is empty", empty.flags());
    failures.expect("Context::memory_info: the Context is empty", empty.memory_info());
    failures.expect("Context::stream_priorities: the Context is empty", empty.stream_priorities());
    failures.expect("Context::limit: the driver has no CUlimit 99 (cuCtxGetLimit: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    context.limit(static_cast<CUlimit>(99)));
    failures.expect("Context::set_limit: the driver has no CUlimit 99 (cuCtxSetLimit: "
                    "CUDA_ERROR_INVALID_VALUE)",
                    context.set_limit(static_cast<CUlimit>(99), 1));
    failures.expect("Context::enable_peer_access: the peer's Context is empty",
                    context.enable_peer_access(empty));
    failures.expect("Context::disable_peer_access: the peer's Context is empty",
                    context.disable_peer_access(empty));
    failures.expect("Context::disable_peer_access: access from device 0 to device 1 is not "
                    "enabled (cuCtxDisablePeerAccess: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED)",
                    context.disable_peer_access(peer));
    REQUIRE(context.enable_peer_access(peer));
    failures.expect("Context::enable_peer_access: access from device 0 to device 1 is already "
                    "enabled (cuCtxEnablePeerAccess: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED)",
                    context.enable_peer_access(peer));
    restart("fault=cuCtxGetCurrent:1:999");
    failures.expect("Context::current: unknown error (cuCtxGetCurrent: CUDA_ERROR_UNKNOWN)",
                    Context::current());
    restart("devices=2;peers=none");
    const Context one = ok(Context::primary(device)),
                  two = ok(Context::primary(Device::from_native(1)));
    failures.expect("Context::enable_peer_access: device 0 cannot access device 1; check with "
                    "Device::can_access() first (cuCtxEnablePeerAccess: "
                    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED)",
                    one.enable_peer_access(two));
}

void expect_stream(Failures &failures) {
    restart("devices=2");
    const Device device = Device::from_native(0);
    const Context empty, context = ok(Context::primary(device)),
                         peer = ok(Context::primary(Device::from_native(1)));
    const Stream none, stream = ok(Stream::create(context)), legacy = Stream::legacy();
    const Event no_event, event = ok(Event::create(context));
    failures.expect("Stream::create: the Context is empty", Stream::create(empty));
    failures.expect("Stream::adopt: the Context is empty", Stream::adopt(empty, stream.native()));
    failures.expect("Stream::adopt: the handle is null", Stream::adopt(context, nullptr));
    failures.expect("Stream::synchronize: the Stream is empty", none.synchronize());
    failures.expect("Stream::synchronize: no context is current on the calling thread; make one "
                    "current with Context::enter() or Context::make_current() "
                    "(cuStreamSynchronize: CUDA_ERROR_INVALID_CONTEXT)",
                    legacy.synchronize());
    failures.expect("Stream::query: the Stream is empty", none.query());
    failures.expect("Stream::wait_event: the Stream is empty", none.wait_event(event));
    failures.expect("Stream::wait_event: the Event is empty", stream.wait_event(no_event));
    failures.expect("Stream::wait: the Stream is empty", none.wait(stream));
    failures.expect("Stream::wait: the other Stream is empty", stream.wait(none));
    failures.expect("Stream::record_event: the Stream is empty", none.record_event());
    failures.expect("Stream::priority: the Stream is empty", none.priority());
    failures.expect("Stream::flags: the Stream is empty", Stream::borrow(nullptr).flags());
    failures.expect("Stream::context: the Stream is empty", none.context());
    failures.expect("Stream::id: the Stream is empty", none.id());
    const Event shared = ok(Event::interprocess(peer));
    failures.expect("Stream::wait_event: the stream belongs to context " + text_of(context) +
                        ", the interprocess event to context " + text_of(peer) +
                        "; if another process created the event, open it in context " +
                        number_of(context) +
                        ", too, with open_event(); if this process did, use an event without "
                        "interprocess",
                    stream.wait_event(shared), ErrorKind::wrong_context);
    failures.expect("Event::interprocess: the Context is empty", Event::interprocess(empty));
    failures.expect("Event::create: an interprocess event cannot measure time; set "
                    "EventOptions::timing to false",
                    Event::create(context, {.interprocess = true}));
    failures.expect("Event::adopt: the Context is empty", Event::adopt(empty, event.native()));
    failures.expect("Event::adopt: the handle is null", Event::adopt(context, nullptr));
    failures.expect("Event::record: the Event is empty", no_event.record(stream));
    failures.expect("Event::record: the Stream is empty", event.record(none));
    failures.expect("Event::record: the event belongs to context " + text_of(context) +
                        ", the stream to context " + text_of(peer) + "; use a stream of context " +
                        number_of(context) + " (cuEventRecord: CUDA_ERROR_INVALID_HANDLE)",
                    event.record(ok(Stream::create(peer))));
    failures.expect("Event::query: the Event is empty", no_event.query());
    failures.expect("Event::synchronize: the Event is empty", no_event.synchronize());
    failures.expect("Event::elapsed_since: the Event is empty", no_event.elapsed_since(event));
    failures.expect("Event::elapsed_since: the earlier Event is empty",
                    event.elapsed_since(no_event));
    const Event later = ok(Event::create(context));
    REQUIRE(event.record(stream));
    failures.expect("Event::elapsed_since: the earlier event was not recorded; call "
                    "Event::record() first (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE)",
                    event.elapsed_since(later));
    failures.expect("Event::elapsed_since: the later event was not recorded; call Event::record() "
                    "first (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE)",
                    later.elapsed_since(event));
    failures.expect("Event::elapsed_since: the later event was not recorded, or was created "
                    "without timing; record it, and set EventOptions::timing (cuEventElapsedTime: "
                    "CUDA_ERROR_INVALID_HANDLE)",
                    Event::borrow(shared.native()).elapsed_since(event));
    const Event untimed = ok(Event::create(context, {.timing = false}));
    REQUIRE(untimed.record(stream));
    failures.expect("Event::elapsed_since: the later event was created without timing; set "
                    "EventOptions::timing (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE)",
                    untimed.elapsed_since(event));
    const Event far = ok(Event::create(peer));
    REQUIRE(far.record(ok(Stream::create(peer))));
    failures.expect("Event::elapsed_since: the earlier event belongs to device 0, the later one "
                    "to device 1; measure between events of one device (cuEventElapsedTime: "
                    "CUDA_ERROR_INVALID_HANDLE)",
                    far.elapsed_since(event));
    restart("mode=adversarial");
    const Context again = ok(Context::primary(device));
    const Stream busy = ok(Stream::create(again));
    const Event start = ok(Event::create(again)), end = ok(Event::create(again));
    REQUIRE(start.record(busy));
    REQUIRE(busy.synchronize());
    REQUIRE(end.record(busy));
    failures.expect("Event::elapsed_since: the later event is not complete; call "
                    "Event::synchronize() first (cuEventElapsedTime: CUDA_ERROR_NOT_READY)",
                    end.elapsed_since(start));
}

} // namespace

std::string api_test::number_of(const Context &context) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx",
                  reinterpret_cast<unsigned long long>(context.native()));
    return text;
}

std::string api_test::text_of(const Context &context) {
    return number_of(context) + " (device " + std::to_string(ok(context.device()).native()) + ")";
}

void api_test::expect_context_failures(Failures &failures) {
    expect_base(failures);
    expect_device(failures);
    expect_context(failures);
    expect_stream(failures);
    restart("");
}
