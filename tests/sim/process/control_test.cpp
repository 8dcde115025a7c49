// The control table: its layout, and how long strings that it returns stay valid.
#include "handles.hpp"

using namespace sim_test;

namespace {

// Calls whose arguments would reuse the memory of earlier ones.
void list_calls(int count) {
    for (int i = 0; i < count; ++i) {
        CUdevice device = 0;
        driver().cuDeviceGet(&device, 100000000 + i);
    }
}

} // namespace

TEST_CASE("the revision of the control table is where older tables have padding") {
    CHECK(sim_control().interface_version == 1);
    CHECK(sim_control().revision == CUSHIM_SIM_REVISION);
    CHECK(offsetof(cushim_sim, reset) == sizeof(std::uint64_t));
}

TEST_CASE("strings of listed calls stay valid until the reset") {
    sim_control().log_calls(1);
    const char *text = "long enough to lie in memory of its own";
    CUmodule module = nullptr;
    CHECK(driver().cuModuleLoad(&module, text) == CUDA_ERROR_FILE_NOT_FOUND);
    cushim_sim_call call{};
    REQUIRE(sim_control().call_at(0, &call) == 1);
    const std::string arguments = call.arguments;
    CHECK(arguments.find(text) != std::string::npos);
    sim_control().clear_calls();
    list_calls(1000);
    sim_control().log_calls(0);
    CHECK(call.arguments == arguments);
    CHECK(std::string(call.name) == "cuModuleLoad");
}

TEST_CASE("the text of a problem stays valid until the reset") {
    CHECK(sim_control().configure("colour=red") == -1);
    const char *first = sim_control().problem();
    const std::string text = first;
    CHECK(text.find("colour=red") != std::string::npos);
    CHECK(sim_control().configure(("weight=" + std::string(1000, '9')).c_str()) == -1);
    CHECK(first == text);
    CHECK(sim_control().configure("") == 0);
    CHECK(first == text);
    CHECK(std::string(sim_control().problem()).empty());
}

TEST_CASE("threads may configure and read the problem concurrently") {
    const char *const wrong[] = {"colour=red", "taste=sweet, but not too sweet"};
    std::string problems[2];
    for (int i = 0; i < 2; ++i) {
        CHECK(sim_control().configure(wrong[i]) == -1);
        problems[i] = sim_control().problem();
    }
    std::atomic<bool> stop{false};
    std::thread other([&] {
        for (int i = 0; !stop; ++i) {
            sim_control().configure(wrong[i % 2]);
        }
    });
    for (int i = 0; i < 2000; ++i) {
        const std::string text = sim_control().problem();
        CHECK((text.empty() || text == problems[0] || text == problems[1]));
    }
    stop = true;
    other.join();
    configure("");
}
