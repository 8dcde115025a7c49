// Names under which host functions of kernels are registered. The names in the images are those
// that nvcc 13.0 makes.
#include "launch_tools.hpp"

using namespace sim_test;

namespace {

std::vector<std::string> idle_kernels() {
    return lines_of(&cushim_sim::idle_kernels);
}

// An image whose kernels have no parameters.
std::string image_of(const std::vector<std::string> &kernels) {
    std::string image = "cushim-sim-image 1\n";
    for (const std::string &kernel : kernels) {
        image += "kernel " + kernel + "\n";
    }
    return image;
}

// Counts the launches of the kernels that a registered name stands for.
class Runs : Unique {
  public:
    explicit Runs(const std::string &name) {
        sim_control().register_kernel(name.c_str(), count_runs, &count_);
    }
    int count() const { return count_; }

  private:
    int count_ = 0;
};

// Launches each kernel of an image once.
void launch_all(const std::vector<std::string> &kernels) {
    const LoadedModule module(image_of(kernels).c_str());
    for (const std::string &kernel : kernels) {
        ok(launch(module.function(kernel.c_str())));
    }
    ok(driver().cuCtxSynchronize());
}

// Whether a registered name stands for a kernel of an image.
bool stands_for(const std::string &name, const std::string &kernel) {
    start();
    const Runs runs(name);
    launch_all({kernel});
    CHECK(idle_kernels().size() == static_cast<std::size_t>(1 - runs.count()));
    return runs.count() == 1;
}

constexpr char anonymous_here[] = "_ZN34_GLOBAL__N__5ecc6ff5_7_main_cu_man4anonEPi",
               anonymous_elsewhere[] = "_ZN34_GLOBAL__N__67415330_7_main_cu_man4anonEPi",
               anonymous_other_file[] = "_ZN36_GLOBAL__N__5ecc6ff5_8_other_cu_main4anonEPi",
               static_here[] = "__nv_static_23__5ecc6ff5_7_main_cu_man__Z4statPif",
               static_elsewhere[] = "__nv_static_23__67415330_7_main_cu_man__Z4statPif";

} // namespace

TEST_CASE("a registered name stands for a kernel whose name has another hash") {
    CHECK(stands_for(anonymous_elsewhere, anonymous_here));
    CHECK(stands_for(static_elsewhere, static_here));
    CHECK(stands_for("__nv_static_23__67415330_7_main_cu_man__ZN34_GLOBAL__N__67415330_7_main_cu_"
                     "man4anonEPi",
                     "__nv_static_23__5ecc6ff5_7_main_cu_man__ZN34_GLOBAL__N__5ecc6ff5_7_main_cu_"
                     "man4anonEPi"));
    CHECK(stands_for("_Z5applyIZN32_INTERNAL_67415330_7_main_cu_man34_GLOBAL__N__67415330_7_main_"
                     "cu_man4lam3EPiEUliE_EvT_S2_",
                     "_Z5applyIZN32_INTERNAL_5ecc6ff5_7_main_cu_man34_GLOBAL__N__5ecc6ff5_7_main_"
                     "cu_man4lam3EPiEUliE_EvT_S2_"));
    CHECK_FALSE(stands_for("_ZN34_GLOBAL__N__67415330_7_main_cu_man4anonEPf", anonymous_here));
}

TEST_CASE("a demangled name stands for a kernel, with or without parameters") {
    struct Example {
        const char *kernel;
        std::vector<std::string> names;
    };
    const Example examples[] = {
        {anonymous_here,
         {"(anonymous namespace)::anon(int*)", "(anonymous namespace)::anon", "anon(int *)", "anon",
          "_ZN12_GLOBAL__N_14anonEPi", anonymous_other_file}},
        {static_here, {"stat(int*, float)", "stat(int *,float)", "stat", "_Z4statPif"}},
        {"_Z5scalePff", {"scale(float*, float)", "void scale(float *, float)", "scale"}},
        {"_ZN3app5scaleEPff", {"app::scale(float*, float)", "app::scale"}},
        {"_ZN3app34_GLOBAL__N__5ecc6ff5_7_main_cu_man4deep3in2EPi",
         {"app::(anonymous namespace)::deep::in2(int*)", "app::deep::in2"}},
        {"_Z4tempIifEvPT_T0_",
         {"void temp<int, float>(int*, float)", "temp<int, float>(int*, float)", "temp<int, float>",
          "temp<int,float>", "temp"}},
        {"__nv_static_23__5ecc6ff5_7_main_cu_man__Z4tempIiN34_GLOBAL__N__5ecc6ff5_7_main_cu_"
         "man3TagEEvPT_T0_",
         {"temp<int, (anonymous namespace)::Tag>", "temp<int, Tag>", "temp"}},
        {"_Z3valILi3EEvPi", {"val<3>", "val"}},
        {"_Z5applyIZN32_INTERNAL_5ecc6ff5_7_main_cu_man4lam2EPiEUliE_EvT_S1_", {"apply"}},
    };
    for (const auto &[kernel, names] : examples) {
        for (const std::string &name : names) {
            INFO(kernel << " as " << name);
            CHECK(stands_for(name, kernel));
        }
    }
}

TEST_CASE("a name with other parameters or namespaces does not stand for a kernel") {
    for (const char *name :
         {"scale(float*, int)", "scale", "other::scale", "app", "app::scale<>", "app::scale(", "",
          "_Z", "__nv_static_", "__nv_static_9__x", "__nv_static_99999999999999999999_x"}) {
        INFO(name);
        CHECK_FALSE(stands_for(name, "_ZN3app5scaleEPff"));
    }
    for (const char *kernel : {"_Z", "_ZN", "__nv_static_", "__nv_static_3_abc",
                               "__nv_static_23__5ecc6ff5_7_main_cu_man_", "i", "_INTERNAL_x"}) {
        INFO(kernel);
        CHECK_FALSE(stands_for("scale", kernel));
        CHECK(stands_for(kernel, kernel));
    }
}

TEST_CASE("the most specific registered name of a kernel applies") {
    const std::vector<std::string> names = {"temp", "temp<int>", "temp<int>(int*)",
                                            "_Z4tempIiEvPT_"};
    std::vector<std::unique_ptr<Runs>> runs;
    for (std::size_t last = 0; last < names.size(); ++last) {
        runs.push_back(std::make_unique<Runs>(names[last]));
        launch_all({"_Z4tempIiEvPT_"});
        for (std::size_t i = 0; i < runs.size(); ++i) {
            INFO(names[i] << " of " << last + 1);
            CHECK(runs[i]->count() == 1);
        }
    }
}

TEST_CASE("a name that fits several kernels of an image is ambiguous") {
    const Runs scale("scale");
    launch_all({"_Z5scalePff", "_Z5scalePfi"});
    CHECK(scale.count() == 0);
    CHECK(idle_kernels() ==
          std::vector<std::string>{
              "kernel _Z5scalePff was launched once and computed nothing: the registered name "
              "\"scale\" also fits kernel _Z5scalePfi; register a host function for "
              "\"scale(float*, float)\"",
              "kernel _Z5scalePfi was launched once and computed nothing: the registered name "
              "\"scale\" also fits kernel _Z5scalePff; register a host function for "
              "\"scale(float*, int)\""});
    // One of the two has a name of its own, so the other is meant.
    const Runs own("scale(float*, int)");
    launch_all({"_Z5scalePff", "_Z5scalePfi"});
    CHECK(scale.count() == 1);
    CHECK(own.count() == 1);
}

TEST_CASE("a name that fits kernels with different parameters in two images is ambiguous") {
    const Runs scale("scale");
    launch_all({"_Z5scalePff"});
    launch_all({"_Z5scalePff"});
    CHECK(scale.count() == 2);
    launch_all({"_Z5scalePfi"});
    CHECK(scale.count() == 2);
    REQUIRE(idle_kernels().size() == 1);
    CHECK(idle_kernels()[0].find("also fits kernel _Z5scalePff; register") != std::string::npos);
}

TEST_CASE("the exact name of one kernel is not a short name of another in its image") {
    const Runs scale("scale");
    launch_all({"scale", "_Z5scalePff"});
    CHECK(scale.count() == 1);
    CHECK(idle_kernels().size() == 1);
}

TEST_CASE("mangled names distinguish kernels of two files with one signature") {
    const std::vector<std::string> kernels = {anonymous_here, anonymous_other_file};
    const Runs either("anon(int*)");
    launch_all(kernels);
    CHECK(either.count() == 0);
    REQUIRE(idle_kernels().size() == 2);
    CHECK(idle_kernels()[0].find("register a host function for \"" + kernels[0] + '"') !=
          std::string::npos);
    const Runs first(anonymous_elsewhere);
    launch_all(kernels);
    CHECK(first.count() == 1);
    CHECK(either.count() == 1);

    start();
    const Runs only(anonymous_elsewhere);
    launch_all(kernels);
    CHECK(only.count() == 1);
    CHECK(idle_kernels().size() == 1);
}

TEST_CASE("the report says how a kernel with a mangled name is registered") {
    launch_all({anonymous_here});
    CHECK(idle_kernels() ==
          std::vector<std::string>{
              std::string("kernel ") + anonymous_here +
              " was launched once and computed nothing: no host function is registered for this "
              "name; register one for \"(anonymous namespace)::anon(int*)\""});
}

TEST_CASE("a null function for a short name means that its kernel computes nothing on purpose") {
    sim_control().register_kernel("scale", nullptr, nullptr);
    launch_all({"_Z5scalePff"});
    CHECK(idle_kernels().empty());
}
