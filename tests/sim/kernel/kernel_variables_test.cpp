// Variables of a module, as host functions of its kernels reach them.
#include "launch_tools.hpp"
#include "memory_tools.hpp"

using namespace sim_test;

namespace {

constexpr char image[] = R"(cushim-sim-image 1
kernel run
global _ZN3app5valueE size=4 init=2a000000
constant _ZN32_INTERNAL_5ecc6ff5_7_main_cu_man34_GLOBAL__N__5ecc6ff5_7_main_cu_man6factorE size=16
global __nv_static_23__5ecc6ff5_7_main_cu_man_counter size=8
managed flags size=16 init=07
global _Z5tableIiE size=4 init=01
global _Z5tableIfE size=4 init=02
)";

// Looks up a variable in a launch of the kernel "run".
struct Lookup {
    explicit Lookup(std::string wanted) : name(std::move(wanted)) {
        sim_control().register_kernel(
            "run",
            [](const cushim_sim_launch *launch, void *user) {
                auto &self = *static_cast<Lookup *>(user);
                self.view = static_cast<unsigned char *>(
                    sim_control().variable(launch, self.name.c_str(), &self.size));
                self.first = self.view != nullptr ? *self.view : 0;
                return 0;
            },
            this);
    }
    std::string name;
    unsigned char *view = nullptr;
    std::size_t size = 0;
    unsigned char first = 0;
};

void run(CUfunction function) {
    ok(launch(function));
    ok(driver().cuCtxSynchronize());
}

} // namespace

TEST_CASE("a host function reaches the variables of its module by name") {
    start(GENERATE_COPY(from_range(all_modes())));
    struct Example {
        const char *name;
        std::size_t size;
        unsigned char first;
    };
    const LoadedModule module(image);
    for (const auto &[name, size, first] : {
             Example{"_ZN3app5valueE", 4, 42},
             Example{"app::value", 4, 42},
             Example{"_ZN32_INTERNAL_67415330_7_main_cu_man34_GLOBAL__N__67415330_7_main_cu_man"
                     "6factorE",
                     16, 0},
             Example{"(anonymous namespace)::factor", 16, 0},
             Example{"factor", 16, 0},
             Example{"counter", 8, 0},
             Example{"flags", 16, 7},
             Example{"table<float>", 4, 2},
         }) {
        INFO(name);
        const Lookup lookup(name);
        run(module.function("run"));
        CHECK(lookup.view != nullptr);
        CHECK(lookup.size == size);
        CHECK(lookup.first == first);
    }
    CHECK(misuses().empty());
}

TEST_CASE("a variable that the module lacks, and an ambiguous name, are misuses") {
    const LoadedModule module(image);
    {
        const Lookup lookup("app::values");
        run(module.function("run"));
        CHECK(lookup.view == nullptr);
        CHECK(lookup.size == 0);
        expect_misuse("kernel run uses variable \"app::values\", which its module lacks; it has "
                      "app::value, (anonymous namespace)::factor, ");
    }
    {
        const Lookup lookup("table");
        run(module.function("run"));
        CHECK(lookup.view == nullptr);
        expect_misuse("kernel run uses variable \"table\", which may be _Z5tableIiE or "
                      "_Z5tableIfE");
    }
    {
        const LoadedModule empty("cushim-sim-image 1\nkernel run");
        const Lookup lookup("value");
        run(empty.function("run"));
        expect_misuse("kernel run uses variable \"value\", which its module lacks");
    }
}

TEST_CASE("a host function sees what the program copied into a variable, and changes it") {
    start(GENERATE_COPY(from_range(all_modes())));
    const LoadedModule module(image);
    sim_control().register_kernel(
        "run",
        [](const cushim_sim_launch *launch, void *) {
            ++*static_cast<int *>(sim_control().variable(launch, "app::value", nullptr));
            return 0;
        },
        nullptr);
    const int given = 7;
    const CUdeviceptr value = module.global("_ZN3app5valueE");
    ok(driver().cuMemcpyHtoD(value, &given, sizeof given));
    run(module.function("run"));
    int result = 0;
    ok(driver().cuMemcpyDtoH(&result, value, sizeof result));
    CHECK(result == 8);
}

TEST_CASE("each module has its own variables") {
    const LoadedModule first(image), second(image);
    const Lookup lookup("app::value");
    run(first.function("run"));
    const unsigned char *const there = lookup.view;
    run(second.function("run"));
    CHECK(lookup.view != there);
    CHECK(lookup.view == view(second.global("_ZN3app5valueE"), 4));
}

TEST_CASE("variables of PTX are found") {
    const LoadedModule module(".version 7.0\n.target sm_52\n.address_size 64\n"
                              ".const .align 4 .b8 _ZN3app6factorE[16];\n"
                              ".visible .entry run() { ret; }\n");
    const Lookup lookup("app::factor");
    run(module.function("run"));
    CHECK(lookup.size == 16);
}

#if CUDA_VERSION >= 12000
TEST_CASE("a library has variables for each context, and managed ones for all") {
    start("devices=2");
    const CUcontext first = current();
    const PrimaryContext second(1);
    CUlibrary library = nullptr;
    require_ok(
        driver().cuLibraryLoadData(&library, image, nullptr, nullptr, 0, nullptr, nullptr, 0));
    const auto kernel = reinterpret_cast<CUfunction>(
        got<CUkernel>(&Driver::cuLibraryGetKernel, out, library, "run"));
    for (const char *name : {"app::value", "flags"}) {
        INFO(name);
        std::set<const unsigned char *> views;
        for (const CUcontext context : {first, CUcontext(second)}) {
            require_ok(driver().cuCtxSetCurrent(context));
            const Lookup lookup(name);
            run(kernel);
            CHECK(lookup.view != nullptr);
            views.insert(lookup.view);
        }
        CHECK(views.size() == (name == std::string("flags") ? 1 : 2));
    }
    ok(driver().cuLibraryUnload(library));
    require_ok(driver().cuCtxSetCurrent(first));
}
#endif

TEST_CASE("a kernel node of a graph reaches the variables of its module") {
    const LoadedModule module(image);
    const Lookup lookup("app::value");
    const Graph graph;
    CUDA_KERNEL_NODE_PARAMS node{};
    node.func = module.function("run");
    node.gridDimX = node.gridDimY = node.gridDimZ = 1;
    node.blockDimX = node.blockDimY = node.blockDimZ = 1;
    CUgraphNode made = nullptr;
    require_ok(driver().cuGraphAddKernelNode(&made, graph, nullptr, 0, &node));
    const Executable exec(graph);
    ok(driver().cuGraphLaunch(exec, nullptr));
    ok(driver().cuCtxSynchronize());
    CHECK(lookup.first == 42);
}
