// Owners that are destroyed during a stream capture free their objects and keep the capture valid.
#include "harness/device_code.hpp"
#include "harness/mapped_memory.hpp"
#include "harness/memory.hpp"
#include "harness/reports.hpp"

#include <cushim/device_buffer.hpp>
#include <cushim/external_semaphore.hpp>
#include <cushim/graph.hpp>
#include <cushim/growable_buffer.hpp>
#include <cushim/host_mapped_buffer.hpp>
#include <cushim/host_registration.hpp>
#include <cushim/library.hpp>
#include <cushim/managed_buffer.hpp>
#include <cushim/memory_pool.hpp>
#include <cushim/override.hpp>
#include <cushim/pinned_buffer.hpp>
#include <cushim/pitched_buffer.hpp>
#include <cushim/pool_buffer.hpp>

#include "harness/exported_memory.hpp"

#include <future>
#include <memory>
#include <thread>

using namespace api_test;
using namespace cushim;

namespace {

// A capture in global mode on another thread.
class OthersCapture {
  public:
    explicit OthersCapture(const Stream &stream) {
        std::promise<bool> begun;
        auto has_begun = begun.get_future();
        thread_ = std::thread([this, &begun, &stream] {
            begun.set_value(stream.begin_capture(CaptureMode::global).has_value());
            ask_.get_future().wait();
            is_valid_ = stream.end_capture().has_value();
        });
        REQUIRE(has_begun.get());
    }
    ~OthersCapture() { end(); }

    // Returns whether the capture stayed valid.
    bool end() {
        if (thread_.joinable()) {
            ask_.set_value();
            thread_.join();
        }
        return is_valid_;
    }

  private:
    std::promise<void> ask_;
    bool is_valid_ = false;
    std::thread thread_;
};

// A capture in thread-local mode on the thread that destroys the owner.
class OwnCapture {
  public:
    explicit OwnCapture(const Stream &stream) : stream_(stream) {
        REQUIRE(stream.begin_capture(CaptureMode::per_thread));
    }
    bool end() { return stream_.end_capture().has_value(); }

  private:
    const Stream &stream_;
};

// The objects that owners are made from.
struct Scene {
    MappingDevice place;
    Stream stream;
    std::vector<int> values = std::vector<int>(1000);

    const Context &context() const { return place.context; }
};

using Kept = std::shared_ptr<void>;

// Null if the driver or the headers are too old for the object.
template <class T>
Kept keep(Result<T> made) {
    if (!made && (made.error().kind() == ErrorKind::requires_newer_driver ||
                  made.error().kind() == ErrorKind::requires_newer_headers)) {
        return nullptr;
    }
    if (!made) {
        FAIL(made.error().message());
    }
    return std::make_shared<T>(std::move(*made));
}

struct Owner {
    const char *what;
    Kept (*make)(Scene &scene);
};

#ifndef _WIN32
Kept keep_external_array(Scene &scene) {
    auto exported = ok(export_memory(1));
    const auto memory = ok(import_whole(scene.context(), exported));
    auto mapped = memory.map_mipmapped(0, image_of(CU_AD_FORMAT_FLOAT, 64));
    // A real driver may refuse images in CUDA memory.
    return !mapped && simulator() == nullptr ? nullptr : keep(std::move(mapped));
}
#endif

constexpr Owner owners[] = {
    {"context", [](Scene &scene) { return keep(Context::create(scene.place.device)); }},
    {"stream", [](Scene &scene) { return keep(Stream::create(scene.context())); }},
    {"event", [](Scene &scene) { return keep(Event::create(scene.context())); }},
    {"device buffer",
     [](Scene &scene) { return keep(DeviceBuffer<int>::allocate(scene.context(), 100)); }},
    {"device buffer with release_after()",
     [](Scene &scene) {
         auto buffer = ok(DeviceBuffer<int>::allocate(scene.context(), 100));
         const auto other = ok(Stream::create(scene.context(), {.non_blocking = true}));
         REQUIRE(buffer.release_after(other));
         REQUIRE(fill(other, buffer.span(), 1));
         return keep(Result<DeviceBuffer<int>>(std::move(buffer)));
     }},
    {"stream-ordered buffer",
     [](Scene &scene) {
         const auto other = ok(Stream::create(scene.context()));
         return keep(DeviceBuffer<int>::allocate_async(other, 100));
     }},
    {"pinned buffer",
     [](Scene &scene) { return keep(PinnedBuffer<int>::allocate(scene.context(), 100)); }},
    {"host-mapped buffer",
     [](Scene &scene) { return keep(HostMappedBuffer<int>::allocate(scene.context(), 100)); }},
    {"host registration",
     [](Scene &scene) {
         return keep(HostRegistration<int>::create(scene.context(), scene.values));
     }},
    {"managed buffer",
     [](Scene &scene) { return keep(ManagedBuffer<int>::allocate(scene.context(), 100)); }},
    {"pitched buffer",
     [](Scene &scene) { return keep(PitchedBuffer<int>::allocate(scene.context(), {10, 10})); }},
    {"memory pool", [](Scene &scene) { return keep(MemoryPool::create(scene.place.device)); }},
    {"pool buffer",
     [](Scene &scene) {
         const auto pool = ok(MemoryPool::create(scene.place.device));
         const auto other = ok(Stream::create(scene.context()));
         return keep(PoolBuffer<int>::allocate(pool, other, 100));
     }},
    {"module", [](Scene &scene) { return keep(load_device_code(scene.context())); }},
    {"library",
     [](Scene &) {
         register_kernels();
         return keep(Library::load(device_code));
     }},
    {"physical memory",
     [](Scene &scene) {
         return keep(PhysicalMemory::create(scene.place.device, scene.place.unit));
     }},
    {"address range",
     [](Scene &scene) {
         return keep(AddressRange::reserve(scene.place.device, scene.place.unit));
     }},
    {"mapped range", [](Scene &scene) { return keep(map_new(scene.place, scene.place.unit)); }},
    {"mapped range with release_after()",
     [](Scene &scene) {
         auto mapped = map_new(scene.place, scene.place.unit);
         const auto other = ok(Stream::create(scene.context(), {.non_blocking = true}));
         REQUIRE(mapped->release_after(other));
         return keep(std::move(mapped));
     }},
    {"growable buffer",
     [](Scene &scene) {
         auto buffer = ok(GrowableBuffer<int>::create(scene.place.device, 100));
         REQUIRE(buffer.resize(100));
         return keep(Result<GrowableBuffer<int>>(std::move(buffer)));
     }},
#ifndef _WIN32
    {"external memory",
     [](Scene &scene) {
         auto exported = ok(export_memory(1));
         return keep(import_whole(scene.context(), exported));
     }},
    {"external buffer",
     [](Scene &scene) {
         auto exported = ok(export_memory(1));
         const auto memory = ok(import_whole(scene.context(), exported));
         return keep(memory.map_buffer(0, exported.size()));
     }},
    {"external array", keep_external_array},
    {"external semaphore",
     [](Scene &scene) {
         // A real driver accepts only semaphores of other APIs.
         return simulator() == nullptr
                    ? nullptr
                    : keep(BinarySemaphore::import_fd(scene.context(),
                                                      UniqueFd(simulator()->make_semaphore_fd(0))));
     }},
#endif
};

Scene scene_now() {
    restart("");
    auto place = ok(MappingDevice::make());
    auto stream = ok(Stream::create(place.context));
    return {std::move(place), std::move(stream)};
}

template <class Capture>
void check_goes(const Owner &owner) {
    INFO(owner.what);
    {
        Scene scene = scene_now();
        Kept kept = owner.make(scene);
        if (kept == nullptr) {
            return;
        }
        const Reports reports;
        Capture capture(scene.stream);
        kept.reset();
        CHECK(capture.end());
        CHECK(reports.lines() == std::vector<std::string>());
    }
    CHECK(leaks() == std::vector<std::string>());
}

} // namespace

TEST_CASE("owners destroyed during another thread's capture keep it valid", "[relaxed_capture]") {
    for (const Owner &owner : owners) {
        check_goes<OthersCapture>(owner);
    }
}

TEST_CASE("owners destroyed during a capture of their thread keep it valid", "[relaxed_capture]") {
    for (const Owner &owner : owners) {
        check_goes<OwnCapture>(owner);
    }
}

// --- the calls that exchange the capture mode

TEST_CASE("a destructor changes the capture mode only during its call", "[relaxed_capture]") {
    Scene scene = scene_now();
    auto buffer = ok(DeviceBuffer<int>::allocate(scene.context(), 100));
    const auto scope = ok(scene.context().enter());
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    REQUIRE(driver().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    const auto calls = calls_in([&] { buffer.reset(); });
    REQUIRE(driver().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS);
    CHECK(mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (simulator() != nullptr) {
        CHECK(calls == std::vector<std::string>{"cuThreadExchangeStreamCaptureMode", "cuMemFree_v2",
                                                "cuThreadExchangeStreamCaptureMode"});
    }
}

TEST_CASE("destroying streams and events does not change the capture mode", "[relaxed_capture]") {
    need_simulator("needs the simulator, which records the calls");
    const Scene scene = scene_now();
    auto event = ok(Event::create(scene.context()));
    auto stream = ok(Stream::create(scene.context()));
    CHECK(calls_in([&] {
              stream.reset();
              event.reset();
          }) == std::vector<std::string>{"cuStreamDestroy_v2", "cuEventDestroy_v2"});
}

TEST_CASE("a buffer is freed by a driver without capture modes", "[relaxed_capture]") {
    const Scene scene = scene_now();
    auto buffer = ok(DeviceBuffer<int>::allocate(scene.context(), 100));
    const Reports reports;
    const ScopedOverride<entry::cuThreadExchangeStreamCaptureMode> missing(
        [](CUstreamCaptureMode *) {
            return static_cast<CUresult>(302); // CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
        });
    CHECK(buffer.close());
    CHECK(reports.failures.empty());
}

// --- the legacy stream, which accepts no work while a blocking stream is captured

TEST_CASE("a free in the legacy stream during a capture is reported and keeps it valid",
          "[relaxed_capture]") {
    const Scene scene = scene_now();
    const auto scope = ok(scene.context().enter());
    auto buffer = ok(DeviceBuffer<int>::allocate_async(Stream::legacy(), 100));
    const CUdeviceptr address = buffer.native();
    const Reports reports;
    OthersCapture capture(scene.stream);
    buffer.reset();
    CHECK(capture.end());
    REQUIRE(reports.failures.size() == 1);
    CHECK(reports.failures[0].status == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    CHECK(reports.failures[0].handle == address);
    CHECK(driver().cuMemFreeAsync(address, CU_STREAM_LEGACY) == CUDA_SUCCESS);
}
