// The driver's error log: failed calls, read from memory, from a file and by callbacks.
#include "memory_tools.hpp"

#if CUDA_VERSION >= 12090

#include <cstdio>
#include <fstream>
#include <future>
#include <iterator>
#include <regex>
#include <sstream>

using namespace sim_test;

namespace {

// An iterator after the newest line.
CUlogIterator newest() {
    return got<CUlogIterator>(&Driver::cuLogsCurrent, out, 0);
}

void fail(int times = 1) {
    for (int i = 0; i < times; ++i) {
        CHECK(driver().cuMemFree(12345) == invalid);
    }
}

struct Dumped {
    CUresult status;
    std::string text;
    std::size_t size;
};

Dumped dump(CUlogIterator *iterator, std::size_t room = 65536) {
    std::vector<char> buffer(room + 1, 'x');
    std::size_t size = room;
    const CUresult status = driver().cuLogsDumpToMemory(iterator, buffer.data(), &size, 0);
    CHECK(buffer[room] == 'x');
    return {status, status == CUDA_SUCCESS ? std::string(buffer.data()) : "", size};
}

using Texts = std::vector<std::string>;

// The messages of a dump, without time, thread, source and severity.
Texts messages_of(const std::string &text) {
    std::istringstream lines(text);
    Texts messages;
    for (std::string line; std::getline(lines, line);) {
        messages.push_back(line.substr(line.find("] ") + 2));
    }
    return messages;
}

std::size_t lines_of(const std::string &text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

struct Received {
    std::vector<std::string> texts;
    bool calls_again = false;
};

void CUDA_CB receive(void *into, CUlogLevel level, char *message, std::size_t length) {
    auto &received = *static_cast<Received *>(into);
    CHECK(level == CU_LOG_LEVEL_ERROR);
    received.texts.emplace_back(message, length);
    if (received.calls_again) {
        fail();
    }
}

// A callback that blocks until it is released.
struct Hold {
    std::promise<void> entered, released;
};

void CUDA_CB wait_in(void *user, CUlogLevel, char *, std::size_t) {
    auto &hold = *static_cast<Hold *>(user);
    hold.entered.set_value();
    hold.released.get_future().wait();
}

constexpr char freed[] = "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemFree_v2";

} // namespace

TEST_CASE("a failed call adds one line to the error log") {
    CUlogIterator iterator = newest();
    CHECK(dump(&iterator).text.empty());
    release(allocate(16));
    ok(driver().cuStreamQuery(nullptr));
    fail();
    const Dumped one = dump(&iterator);
    CHECK(one.size == one.text.size());
    CHECK(std::regex_match(
        one.text, std::regex(R"(\[\d\d:\d\d:\d\d\.\d{3}\]\[\w+\]\[CUDA\]\[E\] Returning 1 )"
                             R"(\(CUDA_ERROR_INVALID_VALUE\) from cuMemFree_v2\n)")));
    CHECK(dump(&iterator).size == 0); // the iterator has advanced
    CHECK(lines_of(dump(nullptr).text) >= 1);
    fail(2);
    CHECK(lines_of(dump(&iterator).text) == 2);
}

TEST_CASE("the reasons of a failure are lines before its status") {
    CUlogIterator iterator = newest();
    CUdeviceptr memory = 0;
    const DeviceMemory block(64);
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = &memory;
    copy.srcPitch = 4;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = block;
    copy.WidthInBytes = 8;
    copy.Height = 1;
    CHECK(driver().cuMemcpy2D(&copy) == invalid);
    CHECK(messages_of(dump(&iterator).text) ==
          Texts{"Pitch must be greater than copy width in bytes",
                "Invalid X finish position, for source operand",
                "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemcpy2D_v2"});
    fail();
    CHECK(messages_of(dump(&iterator).text) == Texts{freed}); // no reason is left over
}

TEST_CASE("a callback is called for each line of a failure") {
    Received received;
    CUlogsCallbackHandle handle = nullptr;
    require_ok(driver().cuLogsRegisterCallback(receive, &received, &handle));
    CHECK(driver().cuMemAlloc(nullptr, 16) == invalid);
    CHECK(received.texts == Texts{"NULL return value pointer",
                                  "Returning 1 (CUDA_ERROR_INVALID_VALUE) from cuMemAlloc_v2"});
    ok(driver().cuLogsUnregisterCallback(handle));
}

TEST_CASE("CUDA_ERROR_NOT_READY is not logged") {
    start("mode=adversarial;seed=1");
    const DeviceMemory memory(64);
    CUlogIterator iterator = newest();
    require_ok(driver().cuMemsetD8Async(memory, 0, 64, nullptr));
    CHECK(driver().cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
    CHECK(dump(&iterator).size == 0);
    require_ok(driver().cuCtxSynchronize());
}

TEST_CASE("a small buffer receives the newest lines and a note that older ones were dropped") {
    CUlogIterator begin = newest();
    fail(5);
    CUlogIterator iterator = begin;
    const Dumped all = dump(&iterator);
    REQUIRE(lines_of(all.text) == 5);
    iterator = begin;
    CHECK(dump(&iterator, all.size + 1).text == all.text);
    iterator = begin;
    const Dumped some = dump(&iterator, all.size);
    CHECK(some.status == CUDA_SUCCESS);
    CHECK(some.text.find("older messages were dropped") != std::string::npos);
    const std::string newest = all.text.substr(all.text.rfind('\n', all.size - 2) + 1);
    CHECK(some.text.ends_with(newest));
    iterator = begin;
    const Dumped none = dump(&iterator, 10);
    CHECK(none.status == invalid);
    CHECK(none.size == 0);
    CHECK(iterator == begin);
}

TEST_CASE("the error log keeps the newest 25600 bytes") {
    CUlogIterator iterator = newest();
    fail(2000);
    const Dumped kept = dump(&iterator);
    CHECK(kept.text.find("older messages were dropped") != std::string::npos);
    CHECK(kept.size > 20000);
    CHECK(kept.size < 26000);
    const Dumped all = dump(nullptr);
    CHECK(all.text.find("older messages were dropped") != std::string::npos);
    CHECK(lines_of(all.text) < 2000);
}

TEST_CASE("the error log can be written to a file") {
    CUlogIterator iterator = newest();
    fail();
    const std::string path = "error_log_test.txt";
    ok(driver().cuLogsDumpToFile(&iterator, path.c_str(), 0));
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    file.close();
    CHECK(std::remove(path.c_str()) == 0);
    CHECK(lines_of(text) == 1);
    CHECK(text.find(freed) != std::string::npos);
    CHECK(dump(&iterator).size == 0);
    CHECK(driver().cuLogsDumpToFile(&iterator, "/no/such/folder/file", 0) == invalid);
}

TEST_CASE("log callbacks are called until they are unregistered") {
    Received first, second;
    CUlogsCallbackHandle handle = nullptr;
    require_ok(driver().cuLogsRegisterCallback(receive, &first, &handle));
    ok(driver().cuLogsRegisterCallback(receive, &second, nullptr));
    fail();
    CHECK(first.texts == std::vector<std::string>{freed});
    CHECK(second.texts == first.texts);
    second.calls_again = true; // its own failing call must not be reported to it
    ok(driver().cuLogsUnregisterCallback(handle));
    fail();
    CHECK(first.texts.size() == 1);
    CHECK(second.texts.size() == 2);
    second.calls_again = false;
    CHECK(driver().cuLogsUnregisterCallback(handle) == invalid);
    CHECK(driver().cuLogsUnregisterCallback(nullptr) == invalid);
    start(); // unregisters all callbacks
    fail();
    CHECK(second.texts.size() == 4);
}

TEST_CASE("a log callback that is unregistered during a report is not called") {
    Hold hold;
    Received received;
    CUlogsCallbackHandle holding = nullptr, receiving = nullptr;
    require_ok(driver().cuLogsRegisterCallback(wait_in, &hold, &holding));
    require_ok(driver().cuLogsRegisterCallback(receive, &received, &receiving));
    std::thread failing([] { (void)driver().cuMemFree(12345); }); // due to be reported to both
    hold.entered.get_future().wait();
    ok(driver().cuLogsUnregisterCallback(receiving));
    hold.released.set_value();
    failing.join();
    CHECK(received.texts.empty());
    ok(driver().cuLogsUnregisterCallback(holding));
}

TEST_CASE("unregistering a log callback waits for the thread that runs it") {
    Hold hold;
    CUlogsCallbackHandle handle = nullptr;
    require_ok(driver().cuLogsRegisterCallback(wait_in, &hold, &handle));
    std::thread failing([] { (void)driver().cuMemFree(12345); });
    hold.entered.get_future().wait();
    auto taken_back = std::async(std::launch::async,
                                 [handle] { return driver().cuLogsUnregisterCallback(handle); });
    CHECK(taken_back.wait_for(std::chrono::milliseconds(100)) == std::future_status::timeout);
    hold.released.set_value();
    ok(taken_back.get());
    failing.join();
}

TEST_CASE("a log callback may unregister itself") {
    struct Once {
        CUlogsCallbackHandle handle = nullptr;
        int calls = 0;
    } once;
    const CUlogsCallback take_back = [](void *user, CUlogLevel, char *, std::size_t) {
        auto &self = *static_cast<Once *>(user);
        ++self.calls;
        ok(driver().cuLogsUnregisterCallback(self.handle));
    };
    require_ok(driver().cuLogsRegisterCallback(take_back, &once, &once.handle));
    fail(2);
    CHECK(once.calls == 1);
}

TEST_CASE("an iterator that the log never returned is accepted, no room is not") {
    CUlogIterator iterator = 0x7fffffff;
    CHECK(dump(&iterator).size == 0);
    iterator = 0x80000000;
    CHECK(dump(&iterator).status == CUDA_SUCCESS);
    char buffer[4096];
    std::size_t none = 0;
    check_all(invalid, {driver().cuLogsDumpToMemory(nullptr, buffer, nullptr, 0),
                        driver().cuLogsDumpToMemory(nullptr, buffer, &none, 0)});
}

#endif
