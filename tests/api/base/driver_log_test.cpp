// Errors contain the reasons that the driver's log has, and only those of their own call.
#include <cushim/driver_log.hpp>
#include <cushim/feature.hpp>
#include <cushim/override.hpp>
#include <cushim/stream.hpp>

#include <catch2/catch_test_macros.hpp>

#include "contains.hpp"
#include "harness/simulator.hpp"
#include "ok.hpp"

#include <cstring>
#include <pthread.h>
#include <string>
#include <thread>

using namespace cushim;
using namespace api_test;
using support::contains;

#if CUDA_VERSION >= 12090

namespace {

// A log with the lines of a test, instead of that of the driver.
class WrittenLog {
  public:
    WrittenLog() {
        first = lines;
        text.clear();
        reads = 0;
    }

    static void write(const std::string &line, unsigned long long thread) {
        text += "[12:00:00.000][" + std::to_string(thread) + "][CUDA][E] " + line + "\n";
        ++lines;
    }
    static void write(const std::string &line) { write(line, (unsigned long long)pthread_self()); }
    static inline int reads = 0;

  private:
    static CUresult CUDAAPI current(CUlogIterator *iterator, unsigned int) {
        ++reads;
        *iterator = lines;
        return CUDA_SUCCESS;
    }
    static CUresult CUDAAPI dump(CUlogIterator *iterator, char *buffer, std::size_t *size,
                                 unsigned int) {
        std::size_t begin = 0;
        for (CUlogIterator line = first; line < *iterator; ++line) {
            begin = text.find('\n', begin) + 1;
        }
        *size = text.copy(buffer, *size - 1, begin);
        buffer[*size] = '\0';
        *iterator = lines;
        return CUDA_SUCCESS;
    }

    static inline std::string text;
    static inline CUlogIterator first = 0, lines = 0; // numbers are never used again
    const ScopedOverride<entry::cuLogsCurrent> current_{current};
    const ScopedOverride<entry::cuLogsDumpToMemory> dump_{dump};
};

std::string message_of(int status, const char *entry_point, Api api = Api::driver) {
    return Error::status(api, status, entry_point).message();
}

void need_log() {
    if (!supports(driver_version(), Feature::error_logs)) {
        SKIP("the driver keeps no log");
    }
}

const std::string no_reason = "invalid argument (cuMemAlloc_v2: CUDA_ERROR_INVALID_VALUE)";
const std::string returning = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2";

} // namespace

TEST_CASE("an error contains the reasons of its call", "[log]") {
    restart("");
    const WrittenLog log;
    log.write("Requested 0 byte allocation");
    log.write(returning);
    CHECK(message_of(1, "cuMemAlloc_v2") ==
          no_reason + ". The driver's log: Requested 0 byte allocation");

    log.write("First");
    log.write("Second");
    log.write(returning);
    CHECK(message_of(1, "cuMemAlloc_v2") == no_reason + ". The driver's log: First; Second");
    CHECK(message_of(1, "cuMemAlloc_v2") == no_reason); // the lines were used
}

TEST_CASE("reasons of other calls do not appear in an error", "[log]") {
    restart("");
    const WrittenLog log;
    const auto check_none = [&] { CHECK(message_of(1, "cuMemAlloc_v2") == no_reason); };
    SECTION("an empty log") {
        check_none();
    }
    SECTION("a failure without reasons, after one with a reason") {
        log.write("Allocation not found");
        log.write("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
        log.write(returning);
        check_none();
    }
    SECTION("a reason of the runtime library") {
        log.write("devPtr cannot be NULL");
        check_none();
    }
    SECTION("another entry point") {
        log.write("Allocation not found");
        log.write("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
        check_none();
    }
    SECTION("another status") {
        log.write("Something else");
        log.write("Returning 2 (CUDA_ERROR_OUT_OF_MEMORY) from cuMemAlloc_v2");
        check_none();
    }
    SECTION("another thread") {
        const auto other = (unsigned long long)pthread_self() + 1;
        log.write("Requested 0 byte allocation", other);
        log.write(returning, other);
        check_none();
    }
    SECTION("text that is not a line of the log") {
        log.write("]\n[x] not a line of the log");
        log.write(returning);
        CHECK(message_of(1, "cuMemAlloc_v2") == no_reason + ". The driver's log: ]");
    }
}

TEST_CASE("runtime errors contain the reasons of the runtime library and of the driver", "[log]") {
    restart("");
    REQUIRE(load_runtime().has_value());
    const WrittenLog log;
    log.write("devPtr cannot be NULL");
    CHECK(contains(message_of(1, "cudaMalloc", Api::runtime),
                   "The driver's log: devPtr cannot be NULL"));
    log.write("Requested 0 byte allocation");
    log.write(returning);
    CHECK(contains(message_of(1, "cudaMalloc", Api::runtime),
                   "The driver's log: Requested 0 byte allocation"));
    log.write("Another failure");
    log.write(returning);
    CHECK_FALSE(contains(message_of(2, "cudaMalloc", Api::runtime), "The driver's log"));
}

TEST_CASE("reasons are bounded", "[log]") {
    restart("");
    const WrittenLog log;
    for (int i = 0; i < 30; ++i) {
        log.write(std::string(90, 'x'));
    }
    log.write(returning);
    const std::string message = message_of(1, "cuMemAlloc_v2");
    CHECK(contains(message, "The driver's log: xxx"));
    CHECK(message.size() < 1200);
    log.write(std::string(3000, 'y'));
    log.write(returning);
    CHECK(message_of(1, "cuMemAlloc_v2").size() < 1200);
    CHECK(std::strlen(last_driver_log().c_str()) == 1023);
}

TEST_CASE("the log is read for failures alone", "[log]") {
    restart("");
    const Context context = ok(Context::primary(ok(Device::get(0))));
    const WrittenLog log;
    const Stream stream = ok(Stream::create(context));
    ok(stream.synchronize());
    (void)message_of(CUDA_ERROR_NOT_READY, "cuStreamQuery");
    (void)Error::invalid_argument("no call").message();
    CHECK(log.reads == 0);
    (void)message_of(1, "cuMemAlloc_v2");
    CHECK(log.reads == 1);
}

TEST_CASE("the last failure's lines are available to raw callers", "[log]") {
    restart("");
    const WrittenLog log;
    CHECK(std::string(last_driver_log().c_str()).empty());
    log.write("Earlier");
    log.write("Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2");
    log.write("Requested 0 byte allocation");
    log.write(returning);
    for (int time = 0; time < 2; ++time) { // reading does not use them up
        CHECK(last_driver_log().c_str() == "Requested 0 byte allocation\n" + returning);
    }
    std::thread([] { CHECK(std::string(last_driver_log().c_str()).empty()); }).join();
}

TEST_CASE("the driver's own log names the failed entry point", "[log]") {
    restart("");
    const Context context = ok(Context::primary(ok(Device::get(0))));
    const ContextScope scope = ok(context.enter());
    CUdeviceptr address = 0;
    REQUIRE(driver().cuMemAlloc(&address, 0) == CUDA_ERROR_INVALID_VALUE);
    need_log();
    CHECK(contains(last_driver_log().c_str(), returning));
}

TEST_CASE("a wrapper's error contains the reasons of the simulated driver", "[log]") {
    need_simulator("drivers differ in their texts");
    restart("");
    need_log();
    const auto device = Device::get(7);
    REQUIRE_FALSE(device.has_value());
    CHECK(device.error().message() ==
          std::string("Device::get: device 7 does not exist; the number of devices is 1 "
                      "(cuDeviceGet: CUDA_ERROR_INVALID_DEVICE). The driver's log: Parameter "
                      "ordinal must be between 0 and 1"));
}

#endif
