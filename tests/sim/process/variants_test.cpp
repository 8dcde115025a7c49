// The variants of the simulated driver: exported names and reported versions.
#include "handles.hpp"

using namespace sim_test;

namespace {

struct Entry {
    std::string name;
    int introduced;
};

std::vector<Entry> all_entries() {
    std::vector<Entry> entries;
    cushim_visit_entry_points(
        CUSHIM_LIBRARY_DRIVER,
        [](const cushim_entry_point *entry, void *into) {
            static_cast<std::vector<Entry> *>(into)->push_back({entry->name, entry->introduced});
        },
        &entries);
    return entries;
}

// "" if the headers are older than the variant.
std::string library(const std::string &variant) {
    const char *path = std::getenv(("SIM_DRIVER_" + variant).c_str());
    return path != nullptr ? path : "";
}

int version_of(const std::string &from) {
    int version = -1;
    ok(call_exported(from, "cuDriverGetVersion", &version));
    return version;
}

// From the oldest to the newest.
struct Variant {
    const char *name;
    int version;
};
constexpr Variant variants[] = {
    {"11_2", 11020}, {"11_4", 11040}, {"12_0", 12000}, {"12_4", 12040}, {"CURRENT", CUDA_VERSION}};

// Checks that exactly the names up to the version are exported, except for `lacking`.
void check_names(const std::string &from, int version, const std::string &lacking) {
    for (const Entry &entry : all_entries()) {
        INFO(entry.name << " of " << entry.introduced);
        const bool expected = entry.introduced <= version && entry.name != lacking;
        CHECK((exported(from, entry.name.c_str()) != nullptr) == expected);
    }
    CHECK(exported(from, CUSHIM_SIM_CONTROL) != nullptr);
    CHECK(exported(from, "cushim_sim_hooks") != nullptr);
}

} // namespace

TEST_CASE("a variant exports the names of its version and reports the version") {
    const Variant variant = GENERATE(from_range(std::begin(variants), std::end(variants)));
    const std::string path = library(variant.name);
    if (path.empty()) {
        SKIP("the headers are older than " << variant.name);
    }
    check_names(path, variant.version, "");
    CHECK(version_of(path) == variant.version);
}

TEST_CASE("a variant exports the lookup functions of its version") {
    struct Ways {
        const char *variant;
        bool first, second;
    };
    for (const Ways &ways : {Ways{"CURRENT", true, CUDA_VERSION >= 12000}, Ways{"12_0", true, true},
                             Ways{"11_4", true, false}, Ways{"11_2", false, false}}) {
        if (const std::string path = library(ways.variant); !path.empty()) {
            INFO(ways.variant);
            CHECK((exported(path, "cuGetProcAddress") != nullptr) == ways.first);
            CHECK((exported(path, "cuGetProcAddress_v2") != nullptr) == ways.second);
        }
    }
}

TEST_CASE("each version has at most as many names as NVIDIA's driver, and all older names") {
    // Counted in the stub libraries of these versions, which also have undeclared names.
    struct Counted {
        int version;
        std::size_t names;
    };
    for (const Counted &stub : {Counted{12090, 661}, Counted{13000, 679}, Counted{13030, 725}}) {
        const auto entries = all_entries();
        const auto known = std::count_if(entries.begin(), entries.end(), [&](const Entry &entry) {
            return entry.introduced <= stub.version;
        });
        INFO(stub.version);
        CHECK(static_cast<std::size_t>(known) <= stub.names);
    }
    std::vector<Variant> present(std::begin(variants), std::end(variants));
    std::erase_if(present, [](const Variant &variant) { return library(variant.name).empty(); });
    for (std::size_t i = 1; i < present.size(); ++i) {
        std::size_t more = 0;
        for (const Entry &entry : all_entries()) {
            const bool before =
                exported(library(present[i - 1].name), entry.name.c_str()) != nullptr;
            const bool after = exported(library(present[i].name), entry.name.c_str()) != nullptr;
            INFO(entry.name << " of " << present[i].name);
            CHECK((after || !before));
            more += after && !before;
        }
        INFO(present[i].name);
        CHECK((more > 0) == (present[i].version > present[i - 1].version));
    }
}

TEST_CASE("a variant that lacks one name exports all others") {
    check_names(library("NOT_A_DRIVER"), CUDA_VERSION, "cuInit");
    check_names(library("MISSING_ONE_NAME"), CUDA_VERSION, "cuMemFree_v2");
}

TEST_CASE("only CUDA names and the control are exported") {
    for (const char *name : {"sim_variant_version", "sim_variant_is_stub", "sim_variant_lacks"}) {
        CHECK(exported(name) == nullptr);
    }
}

TEST_CASE("each call of the stub fails with STUB_LIBRARY and leaves its outputs unchanged") {
    const std::string stub = library("STUB");
    check_names(stub, CUDA_VERSION, "");
    int number = -7;
    const char *text = "before";
    void *address = &number;
    CUdeviceptr memory = 5;
    check_all(CUDA_ERROR_STUB_LIBRARY,
              {call_exported(stub, "cuInit", 0u),
               call_exported(stub, "cuDriverGetVersion", &number),
               call_exported(stub, "cuDeviceGetCount", &number),
               call_exported(stub, "cuGetErrorName", CUDA_SUCCESS, &text),
               call_exported(stub, "cuGetProcAddress", "cuInit", &address, 11030, cuuint64_t(0)),
               call_exported(stub, "cuMemAlloc_v2", &memory, std::size_t(16))});
    CHECK(number == -7);
    CHECK(std::string(text) == "before");
    CHECK(address == &number);
    CHECK(memory == 5);
}

// cushim with the variants: CUSHIM_DRIVER names another variant in each of these.

TEST_CASE("cushim rejects the stub", "[.stub]") {
    CHECK(driver().cuInit(0) == CUDA_ERROR_STUB_LIBRARY);
    CHECK(cushim::load_report().driver.reason == CUSHIM_REASON_LINK_STUB);
    REQUIRE(cushim::load_report().driver.candidate_count > 0);
    CHECK(cushim::load_report().driver.candidates[0].outcome == CUSHIM_OUTCOME_LINK_STUB);
}

TEST_CASE("cushim rejects a library without cuInit", "[.not-a-driver]") {
    CHECK(static_cast<int>(driver().cuInit(0)) == 303);
    REQUIRE(cushim::load_report().driver.candidate_count > 0);
    CHECK(cushim::load_report().driver.candidates[0].outcome == CUSHIM_OUTCOME_NOT_CUDA);
}

TEST_CASE("calling a name that the driver lacks fails with SYMBOL_NOT_FOUND",
          "[.missing-one-name]") {
    start();
    CUdeviceptr memory = 0;
    CHECK(driver().cuMemFree_v2(memory) == CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND);
    int devices = 0;
    ok(driver().cuDeviceGetCount(&devices));
}

TEST_CASE("names newer than the driver are reported as missing", "[.old]") {
    start();
    const char *version = std::getenv("SIM_EXPECTED_VERSION");
    REQUIRE(version != nullptr);
    CHECK(cushim_library_version(CUSHIM_LIBRARY_DRIVER) == std::atoi(version));
    std::size_t newer = 0;
    for (const Entry &entry : all_entries()) {
        cushim_entry_point point{};
        REQUIRE(cushim_find_entry_point(CUSHIM_LIBRARY_DRIVER, entry.name.c_str(), &point) == 1);
        INFO(entry.name);
        CHECK(point.status == (entry.introduced > std::atoi(version) ? 36 : 0));
        newer += entry.introduced > std::atoi(version);
    }
    CHECK(newer > 0);
}
