#include "failures.hpp"

#include "harness/simulator.hpp"

#include <cushim/event.hpp>
#include <cushim/init.hpp>
#include <cushim/loader.hpp>
#include <cushim/override.hpp>
#include <cushim/stream.hpp>
#include <cushim/unique_fd.hpp>

#include <cstdio>

using namespace cushim;
using namespace api_test;

namespace {

void expect_base(Failures &failures) {
    restart("");
    {
        const ScopedOverride<entry::cuInit> none([](unsigned int) { return CUDA_ERROR_NO_DEVICE; });
        failures.expect("init: the driver found no device; check that nvidia-smi lists one; if "
                        "this is a container, start it with GPU access (docker run --gpus all) "
                        "(cuInit: CUDA_ERROR_NO_DEVICE (100))",
                        init());
    }
    failures.expect("configure: the search for the CUDA libraries has already begun; call "
                    "configure() before the first CUDA call",
                    configure({}));
    const std::string path(5000, 'x');
    failures.expect(
        "configure: Settings::driver_path has 5000 bytes and exceeds the limit of 3999 bytes",
        configure({.driver_path = path.c_str()}));
    failures.expect("UniqueFd::duplicate: the UniqueFd holds no file descriptor",
                    UniqueFd().duplicate());
}

void expect_device(Failures &failures) {
    restart("devices=2");
    const Device none = Device::from_native(7), device = Device::from_native(0);
    failures.expect("Device::get: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGet: CUDA_ERROR_INVALID_DEVICE (101))",
                    Device::get(7));
    failures.expect("Device::by_uuid: no device has the UUID "
                    "GPU-00000000-0000-0000-0000-000000000000; the number of devices is 2",
                    Device::by_uuid({}), ErrorKind::no_device);
    failures.expect(
        "Device::by_pci_bus_id: no device has the PCI bus ID \"12:34:56\"; expected a "
        "form such as 0000:3b:00.0 (cuDeviceGetByPCIBusId: CUDA_ERROR_INVALID_DEVICE (101))",
        Device::by_pci_bus_id("12:34:56"));
    failures.expect("Device::by_pci_bus_id: the PCI bus ID is null (cuDeviceGetByPCIBusId: "
                    "CUDA_ERROR_INVALID_VALUE (1))",
                    Device::by_pci_bus_id(nullptr));
    failures.expect("Device::name: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetName: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.name());
    failures.expect("Device::uuid: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetUuid_v2: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.uuid());
    failures.expect("Device::pci_bus_id: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetPCIBusId: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.pci_bus_id());
    failures.expect("Device::attribute: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetAttribute: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
    failures.expect("Device::attribute: the driver has no device attribute 9999 "
                    "(cuDeviceGetAttribute: CUDA_ERROR_INVALID_VALUE (1))",
                    device.attribute(static_cast<CUdevice_attribute>(9999)));
    failures.expect("Device::compute_capability: device 7 does not exist; the number of devices "
                    "is 2 (cuDeviceGetAttribute: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.compute_capability());
    failures.expect("Device::total_memory: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceTotalMem_v2: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.total_memory());
    failures.expect("Device::memory_info: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE (101))",
                    none.memory_info());
    failures.expect("Device::can_access: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceCanAccessPeer: CUDA_ERROR_INVALID_DEVICE (101))",
                    device.can_access(none));
    failures.expect("Device::peer_attribute: device 7 does not exist; the number of devices is 2 "
                    "(cuDeviceGetP2PAttribute: CUDA_ERROR_INVALID_DEVICE (101))",
                    device.peer_attribute(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, none));
    failures.expect(
        "Device::peer_attribute: the driver has no P2P attribute 99 for device 0 and its peer, "
        "device 1 (cuDeviceGetP2PAttribute: CUDA_ERROR_INVALID_VALUE (1))",
        device.peer_attribute(static_cast<CUdevice_P2PAttribute>(99), Device::from_native(1)));
    restart("fault=cuDeviceGetCount:1:999");
    failures.expect("Device::count: cuDeviceGetCount: CUDA_ERROR_UNKNOWN (999): unknown error",
                    Device::count());
}

void expect_context(Failures &failures) {
    restart("devices=2");
    const Device none = Device::from_native(7), device = Device::from_native(0);
    failures.expect("Context::primary: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxRetain: CUDA_ERROR_INVALID_DEVICE (101))",
                    Context::primary(none));
    failures.expect("Context::create: bits 0xff00 of flags 0xffff are not CU_CTX_... flags "
                    "(cuCtxCreate_v2: CUDA_ERROR_INVALID_VALUE (1))",
                    Context::create(device, 0xffff));
    failures.expect("Context::create: flags 0x3 contain several CU_CTX_SCHED_... flags; pass one "
                    "of them (cuCtxCreate_v2: CUDA_ERROR_INVALID_VALUE (1))",
                    Context::create(device, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD));
    failures.expect("Context::create: device 7 does not exist; the number of devices is 2 "
                    "(cuCtxCreate_v2: CUDA_ERROR_INVALID_DEVICE (101))",
                    Context::create(none));
    failures.expect("Context::adopt: the handle is null", Context::adopt(nullptr));
    failures.expect("Context::reset_primary: device 7 does not exist; the number of devices is 2 "
                    "(cuDevicePrimaryCtxGetState: CUDA_ERROR_INVALID_DEVICE (101))",
                    Context::reset_primary(none));
    const Context empty, context = Context::primary(device).value(),
                         peer = Context::primary(Device::from_native(1)).value();
    failures.expect("Context::enter: the Context holds no context", empty.enter());
    failures.expect("Context::make_current: the Context holds no context", empty.make_current());
    failures.expect("Context::device: the Context holds no context", empty.device());
    failures.expect("Context::synchronize: the Context holds no context", empty.synchronize());
    failures.expect("Context::flags: the Context holds no context", empty.flags());
    failures.expect("Context::memory_info: the Context holds no context", empty.memory_info());
    failures.expect("Context::stream_priorities: the Context holds no context",
                    empty.stream_priorities());
    failures.expect("Context::limit: the driver has no CUlimit 99 (cuCtxGetLimit: "
                    "CUDA_ERROR_UNSUPPORTED_LIMIT (215))",
                    context.limit(static_cast<CUlimit>(99)));
    failures.expect("Context::set_limit: the driver has no CUlimit 99 (cuCtxSetLimit: "
                    "CUDA_ERROR_INVALID_VALUE (1))",
                    context.set_limit(static_cast<CUlimit>(99), 1));
    failures.expect("Context::enable_peer_access: the peer's Context holds no context",
                    context.enable_peer_access(empty));
    failures.expect("Context::disable_peer_access: the peer's Context holds no context",
                    context.disable_peer_access(empty));
    failures.expect("Context::disable_peer_access: access from device 0 to device 1 is not "
                    "enabled (cuCtxDisablePeerAccess: CUDA_ERROR_PEER_ACCESS_NOT_ENABLED (705))",
                    context.disable_peer_access(peer));
    REQUIRE(context.enable_peer_access(peer));
    failures.expect("Context::enable_peer_access: access from device 0 to device 1 is already "
                    "enabled (cuCtxEnablePeerAccess: CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED "
                    "(704))",
                    context.enable_peer_access(peer));
    restart("fault=cuCtxGetCurrent:1:999");
    failures.expect("Context::current: cuCtxGetCurrent: CUDA_ERROR_UNKNOWN (999): unknown error",
                    Context::current());
    restart("devices=2;peers=none");
    const Context one = Context::primary(device).value(),
                  two = Context::primary(Device::from_native(1)).value();
    failures.expect("Context::enable_peer_access: device 0 cannot access device 1; check with "
                    "Device::can_access() first (cuCtxEnablePeerAccess: "
                    "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED (217))",
                    one.enable_peer_access(two));
}

void expect_stream(Failures &failures) {
    restart("devices=2");
    const Device device = Device::from_native(0);
    const Context empty, context = Context::primary(device).value(),
                         peer = Context::primary(Device::from_native(1)).value();
    const Stream none, stream = Stream::create(context).value(), legacy = Stream::legacy();
    const Event no_event, event = Event::create(context).value();
    failures.expect("Stream::create: the Context holds no context", Stream::create(empty));
    failures.expect("Stream::adopt: the Context holds no context",
                    Stream::adopt(empty, stream.native()));
    failures.expect("Stream::adopt: the handle is null", Stream::adopt(context, nullptr));
    failures.expect("Stream::synchronize: the Stream holds no stream", none.synchronize());
    failures.expect("Stream::synchronize: no context is current on the calling thread; make one "
                    "current with Context::enter() or Context::make_current() "
                    "(cuStreamSynchronize: CUDA_ERROR_INVALID_CONTEXT (201))",
                    legacy.synchronize());
    failures.expect("Stream::query: the Stream holds no stream", none.query());
    failures.expect("Stream::wait_event: the Stream holds no stream", none.wait_event(event));
    failures.expect("Stream::wait_event: the Event holds no event", stream.wait_event(no_event));
    failures.expect("Stream::priority: the Stream holds no stream", none.priority());
    failures.expect("Stream::flags: the Stream holds no stream", Stream::borrow(nullptr).flags());
    failures.expect("Stream::context: the Stream holds no stream", none.context());
    failures.expect("Stream::id: the Stream holds no stream", none.id());
    const Event shared = Event::interprocess(peer).value();
    failures.expect("Stream::wait_event: the stream belongs to context " + text_of(context) +
                        ", the interprocess event to context " + text_of(peer) +
                        "; if another process created the event, open it in context " +
                        number_of(context) +
                        ", too, with open_event(); if this process did, use an event without "
                        "interprocess",
                    stream.wait_event(shared), ErrorKind::wrong_context);
    failures.expect("Event::interprocess: the Context holds no context",
                    Event::interprocess(empty));
    failures.expect("Event::create: an interprocess event cannot measure time; set "
                    "EventOptions::timing to false",
                    Event::create(context, {.interprocess = true}));
    failures.expect("Event::adopt: the Context holds no context",
                    Event::adopt(empty, event.native()));
    failures.expect("Event::adopt: the handle is null", Event::adopt(context, nullptr));
    failures.expect("Event::record: the Event holds no event", no_event.record(stream));
    failures.expect("Event::record: the Stream holds no stream", event.record(none));
    failures.expect("Event::record: the event belongs to context " + text_of(context) +
                        ", the stream to context " + text_of(peer) + "; use a stream of context " +
                        number_of(context) + " (cuEventRecord: CUDA_ERROR_INVALID_HANDLE (400))",
                    event.record(Stream::create(peer).value()));
    failures.expect("Event::query: the Event holds no event", no_event.query());
    failures.expect("Event::synchronize: the Event holds no event", no_event.synchronize());
    failures.expect("Event::elapsed_since: the Event holds no event",
                    no_event.elapsed_since(event));
    failures.expect("Event::elapsed_since: the earlier Event holds no event",
                    event.elapsed_since(no_event));
    const Event later = Event::create(context).value();
    REQUIRE(event.record(stream));
    failures.expect("Event::elapsed_since: the earlier event was not recorded; call "
                    "Event::record() first (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400))",
                    event.elapsed_since(later));
    failures.expect("Event::elapsed_since: the later event was not recorded; call "
                    "Event::record() first (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400))",
                    later.elapsed_since(event));
    failures.expect("Event::elapsed_since: the later event was not recorded, or was created "
                    "without timing; record it, and set EventOptions::timing (cuEventElapsedTime: "
                    "CUDA_ERROR_INVALID_HANDLE (400))",
                    Event::borrow(shared.native()).elapsed_since(event));
    const Event untimed = Event::create(context, {.timing = false}).value();
    REQUIRE(untimed.record(stream));
    failures.expect("Event::elapsed_since: the later event was created without timing; set "
                    "EventOptions::timing (cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400))",
                    untimed.elapsed_since(event));
    const Event far = Event::create(peer).value();
    REQUIRE(far.record(Stream::create(peer).value()));
    failures.expect("Event::elapsed_since: the earlier event belongs to device 0, the later one "
                    "to device 1; measure between events of one device "
                    "(cuEventElapsedTime: CUDA_ERROR_INVALID_HANDLE (400))",
                    far.elapsed_since(event));
    restart("mode=adversarial");
    const Context again = Context::primary(device).value();
    const Stream busy = Stream::create(again).value();
    const Event start = Event::create(again).value(), end = Event::create(again).value();
    REQUIRE(start.record(busy));
    REQUIRE(busy.synchronize());
    REQUIRE(end.record(busy));
    failures.expect("Event::elapsed_since: the later event is not complete; call "
                    "Event::synchronize() first (cuEventElapsedTime: CUDA_ERROR_NOT_READY (600))",
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
    return number_of(context) + " (device " + std::to_string(context.device().value().native()) +
           ")";
}

void api_test::expect_context_failures(Failures &failures) {
    expect_base(failures);
    expect_device(failures);
    expect_context(failures);
    expect_stream(failures);
    restart("");
}
