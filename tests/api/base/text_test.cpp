// to_text() of owners of an object. tests/values/text_test.cpp has empty owners and enums.
#include "harness/device_code.hpp"
#include "harness/external.hpp"
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/graph.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/ipc.hpp>
#include <cushim/library.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#include <cstdint>
#include <set>

#ifndef _WIN32
#include "harness/exported_memory.hpp"
#endif
#include "public_types.hpp"

using namespace api_test;
using namespace cushim;

namespace {

std::string hexadecimal(unsigned long long number) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", number);
    return text;
}

// Checks texts, and records the names of the printed types.
class Register {
  public:
    template <class T>
    void check(const char *name, const T &object, const std::string &rest) {
        const std::string expected =
            std::string(name) + "(" + hexadecimal(detail::number_of(object.native())) + rest + ")";
        CHECK(to_text(object).c_str() == expected);
        printed_.insert(name);
    }
    const std::set<std::string> &printed() const { return printed_; }

  private:
    std::set<std::string> printed_;
};

template <class Handle>
Handle made_up() {
    return reinterpret_cast<Handle>(std::uintptr_t{48});
}

CUdeviceptr opened_address = 0;

} // namespace

TEST_CASE("every owner prints its handle, device and size", "[text][current]") {
    restart("");
    const Device device = ok(Device::get(0));
    const auto context = ok(Context::primary(device));
    const auto stream = ok(Stream::create(context));
    Register owners;
    owners.check("Context", context, ", device 0");
    owners.check("Stream", stream, ", device 0");
    owners.check("Event", ok(Event::create(context)), ", device 0");

    owners.check("DeviceBuffer", ok(DeviceBuffer<int>::allocate(context, 100)),
                 ", device 0, 400 bytes");
    owners.check("PinnedBuffer", ok(PinnedBuffer<int>::allocate(context, 10)),
                 ", device 0, 40 bytes");
    owners.check("HostMappedBuffer", ok(HostMappedBuffer<int>::allocate(context, 10)),
                 ", device 0, 40 bytes");
    std::vector<int> values(25);
    owners.check("HostRegistration", ok(HostRegistration<int>::create(context, values)),
                 ", device 0, 100 bytes");
    owners.check("ManagedBuffer", ok(ManagedBuffer<int>::allocate(context, 10)),
                 ", device 0, 40 bytes");
    auto pitched = ok(PitchedBuffer<int>::allocate(context, {3, 2}));
    owners.check("PitchedBuffer", pitched,
                 ", device 0, " + std::to_string(pitched.size_bytes()) + " bytes");
    const auto pool = ok(MemoryPool::create(device));
    owners.check("MemoryPool", pool, ", device 0");
    owners.check("PoolBuffer", ok(PoolBuffer<int>::allocate(pool, stream, 10)),
                 ", device 0, 40 bytes");

    auto growable = ok(GrowableBuffer<int>::create(device, 100));
    owners.check("GrowableBuffer", growable, ", device 0, 0 bytes");
    REQUIRE(growable.resize(10));
    owners.check("GrowableBuffer", growable, ", device 0, 40 bytes");
    const auto place = ok(MappingDevice::make());
    const std::string bytes = std::to_string(place.unit) + " bytes";
    const auto range = ok(AddressRange::reserve(device, place.unit));
    const auto memory = ok(PhysicalMemory::create(device, place.unit));
    owners.check("AddressRange", range, ", " + bytes);
    owners.check("PhysicalMemory", memory, ", device 0, " + bytes);
    owners.check("MappedRange", ok(MappedRange::map(range, 0, memory)), ", device 0, " + bytes);

    const auto module = ok(load_device_code(context));
    const auto kernel = ok(module.kernel<Fill>("fill"));
    owners.check("Module", module, ", device 0");
    owners.check("Kernel", kernel, ", device 0");
    owners.check("AnyKernel", static_cast<const AnyKernel &>(kernel), ", device 0");
    owners.check("Library", Library::borrow(made_up<CUlib_st *>()), ", borrowed");

    auto graph = ok(Graph::create(context));
    owners.check("Graph", graph, ", device 0");
    owners.check("GraphNode", ok(graph.add_empty_node({})), "");
    owners.check("GraphExec", ok(graph.instantiate()), ", device 0");

    const auto semaphore = made_up<CUexternalSemaphore>();
    owners.check("BinarySemaphore", BinarySemaphore::borrow(context, semaphore), ", borrowed");
    owners.check("TimelineSemaphore", TimelineSemaphore::borrow(context, semaphore), ", borrowed");
    owners.check("KeyedMutex", KeyedMutex::borrow(context, semaphore), ", borrowed");
    owners.check("NvSciSemaphore", NvSciSemaphore::borrow(context, semaphore), ", borrowed");

#ifndef _WIN32
    if (simulator() == nullptr) {
        return; // a real driver rejects such an image and memory exported by this process
    }
    auto exported = ok(export_memory(1));
    const auto imported = ok(import_whole(context, exported));
    owners.check("ExternalMemory", imported,
                 ", device 0, " + std::to_string(exported.size()) + " bytes");
    owners.check("ExternalBuffer", ok(imported.map_buffer(0, 64)), ", device 0, 64 bytes");
    owners.check("ExternalMipmappedArray",
                 ok(imported.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 4))), ", device 0");

    auto shared = ok(DeviceBuffer<int>::allocate(context, 10));
    opened_address = shared.native();
    const ScopedOverride<entry::cuIpcOpenMemHandle_v2> open(
        [](CUdeviceptr *address, CUipcMemHandle, unsigned int) {
            *address = opened_address;
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuIpcCloseMemHandle> close(
        [](CUdeviceptr) { return CUDA_SUCCESS; });
    owners.check("IpcMemory",
                 ok(IpcMemory::open(context, ok(IpcExport::of(context, shared.span())))),
                 ", device 0, 40 bytes");

    for (const char *const owner : {
#define ROW(name, type) #name,
             PUBLIC_OWNERS(ROW)
#undef ROW
         }) {
        INFO(owner);
        CHECK((owner == std::string("UniqueFd") || owners.printed().count(owner) == 1));
    }
#endif
}

TEST_CASE("an owner that was moved from, closed or released prints as empty", "[text][current]") {
    const Context context = context_after_restart("");
    auto stream = ok(Stream::create(context));
    const Stream moved = std::move(stream);
    CHECK(to_text(stream).c_str() == std::string("Stream(empty)"));
    CHECK(to_text(moved).c_str() ==
          "Stream(" + hexadecimal(detail::number_of(moved.native())) + ", device 0)");

    auto buffer = ok(DeviceBuffer<int>::allocate(context, 10));
    REQUIRE(buffer.close());
    CHECK(to_text(buffer).c_str() == std::string("DeviceBuffer(empty)"));

    auto event = ok(Event::create(context));
    const Event borrowed = Event::borrow(event.native());
    const auto again = ok(Event::adopt(context, event.release()));
    CHECK(to_text(event).c_str() == std::string("Event(empty)"));
    const std::string handle = hexadecimal(detail::number_of(again.native()));
    CHECK(to_text(borrowed).c_str() == "Event(" + handle + ", borrowed)");
    CHECK(to_text(again).c_str() == "Event(" + handle + ", device 0)");
    CHECK(std::string(to_text(again.share()).c_str()) == to_text(again).c_str());
}

TEST_CASE("an owner prints the device of its object", "[text][current]") {
    need_simulator("needs the simulator, which always has 2 devices here");
    restart("devices=2");
    const Device second = ok(Device::get(1));
    const auto primary = ok(Context::primary(second));
    const auto created = ok(Context::create(second));
    Register owners;
    owners.check("Context", primary, ", device 1");
    owners.check("Context", created, ", device 1");
    owners.check("Context", Context::borrow(primary.native()), ", borrowed");
    const auto stream = ok(Stream::create(created));
    owners.check("Stream", stream, ", device 1");
    auto ordered = ok(DeviceBuffer<int>::allocate_async(stream, 1));
    owners.check("DeviceBuffer", ordered, ", device 1, 4 bytes");
    const auto in_borrowed = ok(Event::create(Context::borrow(primary.native())));
    owners.check("Event", in_borrowed, "");
}

TEST_CASE("printing makes no CUDA calls", "[text][current]") {
    need_simulator("needs the simulator, which records the calls");
    const Context context = context_after_restart("");
    const Device device = ok(Device::get(0));
    const auto stream = ok(Stream::create(context));
    auto buffer = ok(DeviceBuffer<int>::allocate_async(stream, 10));
    auto graph = ok(Graph::create(context));
    const Stream borrowed = Stream::borrow(stream.native());
    check_no_calls([&] {
        (void)to_text(device);
        (void)to_text(context);
        (void)to_text(stream);
        (void)to_text(borrowed);
        (void)to_text(Stream::legacy());
        (void)to_text(buffer);
        (void)to_text(graph);
    });
    CHECK(calls_in([&] { REQUIRE(stream.query()); }).size() == 1);
}
