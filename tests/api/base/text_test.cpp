// to_text() of owners of an object. tests/values/text_test.cpp has empty owners and enums.
#include "harness/device_code.hpp"
#include "harness/external.hpp"
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"

#include <cushim/graph.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/ipc.hpp>
#include <cushim/library.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/override.hpp>
#include <cushim/pitched_buffer.hpp>

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
    const Device device = Device::get(0).value();
    const auto context = Context::primary(device).value();
    const auto stream = Stream::create(context).value();
    Register owners;
    owners.check("Context", context, ", device 0");
    owners.check("Stream", stream, ", device 0");
    owners.check("Event", Event::create(context).value(), ", device 0");

    owners.check("DeviceBuffer", DeviceBuffer<int>::allocate(context, 100).value(),
                 ", device 0, 400 bytes");
    owners.check("PinnedBuffer", PinnedBuffer<int>::allocate(context, 10).value(),
                 ", device 0, 40 bytes");
    owners.check("HostMappedBuffer", HostMappedBuffer<int>::allocate(context, 10).value(),
                 ", device 0, 40 bytes");
    std::vector<int> values(25);
    owners.check("HostRegistration", HostRegistration<int>::create(context, values).value(),
                 ", device 0, 100 bytes");
    owners.check("ManagedBuffer", ManagedBuffer<int>::allocate(context, 10).value(),
                 ", device 0, 40 bytes");
    const auto pitched = PitchedBuffer<int>::allocate(context, {3, 2}).value();
    owners.check("PitchedBuffer", pitched,
                 ", device 0, " + std::to_string(pitched.size_bytes()) + " bytes");
    const auto pool = MemoryPool::create(device).value();
    owners.check("MemoryPool", pool, ", device 0");
    owners.check("PoolBuffer", PoolBuffer<int>::allocate(pool, stream, 10).value(),
                 ", device 0, 40 bytes");

    auto growable = GrowableBuffer<int>::create(device, 100).value();
    owners.check("GrowableBuffer", growable, ", device 0, 0 bytes");
    REQUIRE(growable.resize(10));
    owners.check("GrowableBuffer", growable, ", device 0, 40 bytes");
    const auto place = MappingDevice::make().value();
    const std::string bytes = std::to_string(place.unit) + " bytes";
    const auto range = AddressRange::reserve(device, place.unit).value();
    const auto memory = PhysicalMemory::create(device, place.unit).value();
    owners.check("AddressRange", range, ", " + bytes);
    owners.check("PhysicalMemory", memory, ", device 0, " + bytes);
    owners.check("MappedRange", MappedRange::map(range, 0, memory).value(), ", device 0, " + bytes);

    const auto module = load_device_code(context).value();
    const auto kernel = module.kernel<Fill>("fill").value();
    owners.check("Module", module, ", device 0");
    owners.check("Kernel", kernel, ", device 0");
    owners.check("AnyKernel", static_cast<const AnyKernel &>(kernel), ", device 0");
    owners.check("Library", Library::borrow(made_up<CUlib_st *>()), ", borrowed");

    const auto graph = Graph::create(context).value();
    owners.check("Graph", graph, ", device 0");
    owners.check("GraphNode", graph.add_empty_node({}).value(), "");
    owners.check("GraphExec", graph.instantiate().value(), ", device 0");

    const auto semaphore = made_up<CUexternalSemaphore>();
    owners.check("BinarySemaphore", BinarySemaphore::borrow(context, semaphore), ", borrowed");
    owners.check("TimelineSemaphore", TimelineSemaphore::borrow(context, semaphore), ", borrowed");
    owners.check("KeyedMutex", KeyedMutex::borrow(context, semaphore), ", borrowed");
    owners.check("NvSciSemaphore", NvSciSemaphore::borrow(context, semaphore), ", borrowed");

#ifndef _WIN32
    if (simulator() == nullptr) {
        return; // a real driver rejects such an image and memory exported by this process
    }
    auto exported = export_memory(1).value();
    const auto imported = import_whole(context, exported).value();
    owners.check("ExternalMemory", imported,
                 ", device 0, " + std::to_string(exported.size()) + " bytes");
    owners.check("ExternalBuffer", imported.map_buffer(0, 64).value(), ", device 0, 64 bytes");
    owners.check("ExternalMipmappedArray",
                 imported.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 4)).value(), ", device 0");

    const auto shared = DeviceBuffer<int>::allocate(context, 10).value();
    opened_address = shared.native();
    const ScopedOverride<entry::cuIpcOpenMemHandle_v2> open(
        [](CUdeviceptr *address, CUipcMemHandle, unsigned int) {
            *address = opened_address;
            return CUDA_SUCCESS;
        });
    const ScopedOverride<entry::cuIpcCloseMemHandle> close(
        [](CUdeviceptr) { return CUDA_SUCCESS; });
    owners.check("IpcMemory",
                 IpcMemory::open(context, IpcExport::of(context, shared.span()).value()).value(),
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
    auto stream = Stream::create(context).value();
    const Stream moved = std::move(stream);
    CHECK(to_text(stream).c_str() == std::string("Stream(empty)"));
    CHECK(to_text(moved).c_str() ==
          "Stream(" + hexadecimal(detail::number_of(moved.native())) + ", device 0)");

    auto buffer = DeviceBuffer<int>::allocate(context, 10).value();
    REQUIRE(buffer.close());
    CHECK(to_text(buffer).c_str() == std::string("DeviceBuffer(empty)"));

    auto event = Event::create(context).value();
    const Event borrowed = Event::borrow(event.native());
    const auto again = Event::adopt(context, event.release()).value();
    CHECK(to_text(event).c_str() == std::string("Event(empty)"));
    const std::string handle = hexadecimal(detail::number_of(again.native()));
    CHECK(to_text(borrowed).c_str() == "Event(" + handle + ", borrowed)");
    CHECK(to_text(again).c_str() == "Event(" + handle + ", device 0)");
    CHECK(std::string(to_text(again.share()).c_str()) == to_text(again).c_str());
}

TEST_CASE("an owner prints the device of its object", "[text][current]") {
    need_simulator("needs the simulator, which always has 2 devices here");
    restart("devices=2");
    const Device second = Device::get(1).value();
    const auto primary = Context::primary(second).value();
    const auto created = Context::create(second).value();
    Register owners;
    owners.check("Context", primary, ", device 1");
    owners.check("Context", created, ", device 1");
    owners.check("Context", Context::borrow(primary.native()), ", borrowed");
    const auto stream = Stream::create(created).value();
    owners.check("Stream", stream, ", device 1");
    const auto ordered = DeviceBuffer<int>::allocate_async(stream, 1).value();
    owners.check("DeviceBuffer", ordered, ", device 1, 4 bytes");
    const auto in_borrowed = Event::create(Context::borrow(primary.native())).value();
    owners.check("Event", in_borrowed, "");
}

TEST_CASE("printing makes no CUDA calls", "[text][current]") {
    need_simulator("needs the simulator, which records the calls");
    const Context context = context_after_restart("");
    const Device device = Device::get(0).value();
    const auto stream = Stream::create(context).value();
    const auto buffer = DeviceBuffer<int>::allocate_async(stream, 10).value();
    const auto graph = Graph::create(context).value();
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
