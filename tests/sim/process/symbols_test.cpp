// Each row of the tables is exported by the simulated libraries, which report whether it is
// simulated.
#include "handles.hpp"

#include <fstream>

using namespace sim_test;

namespace {

std::vector<std::string> names_of(cushim_library library) {
    std::vector<std::string> names;
    cushim_visit_entry_points(
        library,
        [](const cushim_entry_point *entry, void *into) {
            static_cast<std::vector<std::string> *>(into)->emplace_back(entry->name);
        },
        &names);
    return names;
}

struct Entry {
    std::string name;
    bool simulated;
};

std::vector<Entry> all_entries() {
    std::vector<Entry> entries;
    const char *name = nullptr;
    int simulated = -1;
    while (sim_control().entry_at(entries.size(), &name, &simulated) != 0) {
        entries.push_back({name, simulated == 1});
        REQUIRE((simulated == 0 || simulated == 1));
    }
    return entries;
}

} // namespace

TEST_CASE("each row of both tables is exported and found by cushim") {
    const auto check_rows = [](cushim_library library, const char *file, std::size_t least) {
        REQUIRE(file != nullptr);
        const auto names = names_of(library);
        CHECK(names.size() > least);
        for (const auto &name : names) {
            INFO(name);
            CHECK(exported(file, name.c_str()) != nullptr);
        }
        CHECK(cushim_resolve_all(library) == names.size());
    };
    check_rows(CUSHIM_LIBRARY_DRIVER, std::getenv("CUSHIM_DRIVER"), 300);
    check_rows(CUSHIM_LIBRARY_RUNTIME, std::getenv("CUSHIM_RUNTIME"), 200);
}

// Exported by NVIDIA's libcudart of 11.8, 12.9 and 13.0.
TEST_CASE("functions called by compiled CUDA code are exported") {
    std::vector<std::string> names = {
        "RegisterFatBinary",    "RegisterFatBinaryEnd", "UnregisterFatBinary", "RegisterFunction",
        "RegisterVar",          "RegisterManagedVar",   "RegisterHostVar",     "InitModule",
        "PopCallConfiguration", "PushCallConfiguration"};
#if CUDA_VERSION >= 12000
    names.emplace_back("RegisterUnifiedTable");
#else
    names.insert(names.end(), {"RegisterTexture", "RegisterSurface"});
#endif
#if CUDA_VERSION >= 12010
    names.insert(names.end(), {"GetKernel", "LaunchKernel", "LaunchKernel_ptsz"});
#endif
    for (const auto &name : names) {
        INFO(name);
        CHECK(exported(std::getenv("CUSHIM_RUNTIME"), ("__cuda" + name).c_str()) != nullptr);
    }
}

TEST_CASE("entry_at returns each row of the tables, then 0") {
    const auto names = names_of(CUSHIM_LIBRARY_DRIVER);
    const auto entries = all_entries();
    CHECK(entries.size() >= names.size());
    std::set<std::string> all;
    for (const Entry &entry : entries) {
        CHECK(all.insert(entry.name).second);
    }
    for (const auto &name : names) {
        INFO(name);
        CHECK(all.contains(name));
    }
    CHECK(sim_control().entry_at(entries.size() + 1000, nullptr, nullptr) == 0);
    CHECK(sim_control().entry_at(0, nullptr, nullptr) == 1);
}

TEST_CASE("entry_at and the list of the build agree on what is not simulated") {
    const char *path = std::getenv("SIM_NOT_SIMULATED");
    REQUIRE(path != nullptr);
    std::ifstream file(path);
    REQUIRE(file);
    std::set<std::string> listed;
    for (std::string name; file >> name;) {
        listed.insert(name);
    }
    for (const Entry &entry : all_entries()) {
        INFO(entry.name);
        CHECK(entry.simulated != listed.contains(entry.name));
    }
}

TEST_CASE("an entry point that is not simulated fails with NOT_SUPPORTED, before cuInit with "
          "NOT_INITIALIZED",
          "[fresh]") {
    // Coredump settings are unlikely to be simulated.
    using Function = CUresult (*)(int, void *, std::size_t *);
    const auto function = reinterpret_cast<Function>(exported("cuCoredumpGetAttribute"));
    if (function == nullptr) {
        SKIP("these headers do not declare cuCoredumpGetAttribute");
    }
    std::size_t size = 8;
    configure("init=3");
    CHECK(function(1, &size, &size) == CUDA_ERROR_NOT_INITIALIZED);
    start();
    CHECK(function(1, &size, &size) == CUDA_ERROR_NOT_SUPPORTED);
    CHECK(size == 8);
}
