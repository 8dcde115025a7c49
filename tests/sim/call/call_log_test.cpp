// The call log: every call of the client, in order, with its arguments and status.
#include "handles.hpp"

using namespace sim_test;

namespace {

std::vector<std::string> calls() {
    std::vector<std::string> all;
    cushim_sim_call call{};
    for (std::size_t i = 0; sim_control().call_at(i, &call) != 0; ++i) {
        all.push_back(std::string(call.name) + "(" + call.arguments +
                      ") = " + std::to_string(call.status));
    }
    CHECK(all.size() == sim_control().call_count());
    return all;
}

std::set<std::uint64_t> each(std::uint64_t cushim_sim_call::*member) {
    std::set<std::uint64_t> values;
    cushim_sim_call call{};
    for (std::size_t i = 0; sim_control().call_at(i, &call) != 0; ++i) {
        values.insert(call.*member);
    }
    return values;
}

std::string hex(std::uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

} // namespace

TEST_CASE("calls are listed in order with their arguments and status") {
    sim_control().log_calls(1);
    CUdeviceptr p = 0;
    driver().cuMemAlloc(&p, 4096);
    driver().cuMemsetD32(p, 7, 16);
    CUdevice device = 0;
    driver().cuDeviceGet(&device, -1);
    driver().cuMemFree(p);
    sim_control().log_calls(0);
    driver().cuMemFree(0);
    const std::vector<std::string> expected = {
        "cuMemAlloc_v2(" + hex(reinterpret_cast<std::uint64_t>(&p)) + ", 4096) = 0",
        "cuMemsetD32_v2(" + hex(p) + ", 7, 16) = 0",
        "cuDeviceGet(" + hex(reinterpret_cast<std::uint64_t>(&device)) + ", -1) = 101",
        "cuMemFree_v2(" + hex(p) + ") = 0",
    };
    CHECK(calls() == expected);
    sim_control().clear_calls();
    CHECK(calls().empty());
}

TEST_CASE("call numbers increase, and each thread has its own number") {
    sim_control().log_calls(1);
    int count = 0;
    driver().cuDeviceGetCount(&count);
    std::thread([&] { driver().cuDeviceGetCount(&count); }).join();
    driver().cuDeviceGetCount(&count);
    std::thread([&] { driver().cuDeviceGetCount(&count); }).join();
    CHECK(each(&cushim_sim_call::thread).size() == 3);
    const auto call_at = [](std::size_t index) {
        cushim_sim_call call{};
        REQUIRE(sim_control().call_at(index, &call) == 1);
        return call;
    };
    cushim_sim_call a = call_at(0), b = call_at(1), c = call_at(2);
    CHECK(a.number < b.number);
    CHECK(b.number < c.number);
    CHECK(a.thread != b.thread);
    CHECK(a.thread == c.thread);
    CHECK(sim_control().call_at(4, &a) == 0);
    CHECK(sim_control().call_at(0, nullptr) == 0);
}

TEST_CASE("threads are numbered by their first listed calls, again after a reset") {
    const auto threads = [] {
        std::vector<std::uint64_t> numbers;
        cushim_sim_call call{};
        for (std::size_t i = 0; sim_control().call_at(i, &call) != 0; ++i) {
            numbers.push_back(call.thread);
        }
        return numbers;
    };
    int count = 0;
    sim_control().log_calls(1);
    std::thread([&] { driver().cuDeviceGetCount(&count); }).join();
    driver().cuDeviceGetCount(&count);
    CHECK(threads() == std::vector<std::uint64_t>{1, 2});
    sim_control().reset();
    sim_control().log_calls(1);
    driver().cuDeviceGetCount(&count);
    std::thread([&] { driver().cuDeviceGetCount(&count); }).join();
    CHECK(threads() == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("per-thread entry points are listed by their own names, structures as {}") {
    sim_control().log_calls(1);
    CUipcMemHandle handle{};
    CUdeviceptr p = 0;
    driver().cuStreamQuery_ptsz(nullptr);
    driver().cuIpcOpenMemHandle(&p, handle, 0);
    const auto all = calls();
    REQUIRE(all.size() == 2);
    CHECK(all[0] == "cuStreamQuery_ptsz(0x0) = 0");
    CHECK(all[1].find("cuIpcOpenMemHandle_v2(") == 0);
    CHECK(all[1].find(", {}, 0) = ") != std::string::npos);
    for (const auto &line : misuses()) {
        expect_misuse(line);
    }
}

TEST_CASE("a call that fails by a planned fault is listed with its status") {
    start("log=1;fault=cuDeviceGetCount:1:999");
    sim_control().clear_calls();
    int count = 0;
    driver().cuDeviceGetCount(&count);
    REQUIRE(calls().size() == 1);
    CHECK(calls()[0].find(") = 999") != std::string::npos);
}

TEST_CASE("a string argument is listed as quoted text") {
    sim_control().log_calls(1);
    CUdevice device = 0;
    const std::string place = hex(reinterpret_cast<std::uint64_t>(&device));
    const auto look_up = [&](const char *bus) {
        sim_control().clear_calls();
        driver().cuDeviceGetByPCIBusId(&device, bus);
        REQUIRE(calls().size() == 1);
        return calls()[0];
    };
    CHECK(look_up("0000:00:06.0") == "cuDeviceGetByPCIBusId(" + place + ", \"0000:00:06.0\") = 0");
    CHECK(look_up("a \"b\" \\ \n") ==
          "cuDeviceGetByPCIBusId(" + place + R"(, "a \"b\" \\ \x0a") = 1)");
    CHECK(look_up(nullptr) == "cuDeviceGetByPCIBusId(" + place + ", 0x0) = 1");
    const std::string listed = look_up(std::string(1000, 'x').c_str());
    CHECK(listed.find("xxx...\") = ") != std::string::npos);
    CHECK(listed.size() < 200);
}

TEST_CASE("a runtime call is listed once, without the driver calls it makes") {
    sim_control().log_calls(1);
    int count = 0;
    int version = 0;
    ok(runtime().cudaRuntimeGetVersion(&version)); // cushim also calls it when it loads the library
    sim_control().clear_calls();
    driver().cuDeviceGetCount(&count);
    void *memory = allocate_by_runtime(64);
    driver().cuDeviceGetCount(&count);
    ok(runtime().cudaMemset(memory, 0, 64));
    ok(runtime().cudaFree(memory));
    driver().cuDeviceGetCount(&count);
    std::vector<std::string> names;
    std::uint64_t last = 0;
    cushim_sim_call call{};
    for (std::size_t i = 0; sim_control().call_at(i, &call) != 0; ++i) {
        CHECK((i == 0 || call.number == last + 1));
        CHECK(call.thread == 1);
        last = call.number;
        names.emplace_back(call.name);
    }
    CHECK(names == std::vector<std::string>{"cuDeviceGetCount", "cudaMalloc", "cuDeviceGetCount",
                                            "cudaMemset", "cudaFree", "cuDeviceGetCount"});
}

TEST_CASE("calls made by a host function are listed as calls of the client") {
    static CUevent event;
    static CUresult answered;
    event = make_event();
    answered = invalid;
    configure("fault=cuEventQuery:2:999");
    sim_control().log_calls(1);
    const auto ask_twice = [](void *) {
        driver().cuEventQuery(event);
        answered = driver().cuEventQuery(event);
    };
    ok(runtime().cudaLaunchHostFunc(nullptr, ask_twice, nullptr));
    sim_control().log_calls(0);
    CHECK(answered == CUDA_ERROR_UNKNOWN);
    REQUIRE(calls().size() == 3); // in the order in which they returned
    CHECK(calls()[0] == "cuEventQuery(" + hex(reinterpret_cast<std::uint64_t>(event)) + ") = 0");
    CHECK(calls()[1] == "cuEventQuery(" + hex(reinterpret_cast<std::uint64_t>(event)) + ") = 999");
    CHECK(calls()[2].find("cudaLaunchHostFunc(0x0, ") == 0);
    CHECK(each(&cushim_sim_call::number).size() == 3);
    ok(driver().cuEventDestroy(event));
}
