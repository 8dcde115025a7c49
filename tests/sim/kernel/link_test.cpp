// The linker: inputs are joined, visible names that are defined twice refused, libraries taken,
// logs written.
#include "images.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace sim_test;

namespace {

constexpr char first[] = "cushim-sim-image 1\nkernel one params=8,4 registers=20\n"
                         "global counter size=4 init=05000000\ntexture image\n";
constexpr char second[] = ".version 7.0\n.target sm_52\n"
                          ".visible .entry two(.param .u64 a) { ret; }\n";

class Link : Unique {
  public:
    explicit Link(std::vector<CUjit_option> options = {}, void **values = nullptr) {
        REQUIRE(d.cuLinkCreate(static_cast<unsigned int>(options.size()), options.data(), values,
                               &state_) == good);
    }
    ~Link() { CHECK(d.cuLinkDestroy(state_) == good); }

    CUlinkState get() const { return state_; }
    CUresult add(CUjitInputType type, std::string text, const char *name = "input") const {
        return d.cuLinkAddData(state_, type, text.data(), text.size() + 1, name, 0, nullptr,
                               nullptr);
    }

  private:
    CUlinkState state_ = nullptr;
};

} // namespace

TEST_CASE("inputs are linked into one image") {
    start();
    CUmodule module = nullptr;
    {
        const Link link;
        CHECK(link.add(CU_JIT_INPUT_CUBIN, first) == good);
        CHECK(link.add(CU_JIT_INPUT_PTX, second) == good);
        void *image = nullptr, *again = nullptr;
        CHECK(got<std::size_t>(&Driver::cuLinkComplete, link.get(), &image, out) > 1);
        CHECK(got(d.cuLinkComplete(link.get(), &again, nullptr), again) == image);
        CHECK(link.add(CU_JIT_INPUT_PTX, second) == invalid);
        REQUIRE(d.cuModuleLoadData(&module, image) == good);
    }
    CUfunction one = nullptr, two = nullptr;
    CHECK(d.cuModuleGetFunction(&one, module, "one") == good);
    CHECK(d.cuModuleGetFunction(&two, module, "two") == good);
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, one) == 20);
    CUdeviceptr counter = 0;
    CHECK(d.cuModuleGetGlobal(&counter, nullptr, module, "counter") == good);
    CHECK(got<int>(&Driver::cuMemcpyDtoH, out, counter, 4) == 5);
    CUtexref texture = nullptr;
    CHECK(d.cuModuleGetTexRef(&texture, module, "image") == good);
    CHECK(d.cuModuleUnload(module) == good);
}

TEST_CASE("the linker needs a context, its later calls do not") {
    start();
    CUlinkState state = nullptr;
    REQUIRE(d.cuLinkCreate(0, nullptr, nullptr, &state) == good);
    CHECK(leaks().size() == 1);
    pop_current();
    CUlinkState none = nullptr;
    CHECK(d.cuLinkCreate(0, nullptr, nullptr, &none) == CUDA_ERROR_INVALID_CONTEXT);
    std::string text = first;
    CHECK(d.cuLinkAddData(state, CU_JIT_INPUT_CUBIN, text.data(), text.size(), nullptr, 0, nullptr,
                          nullptr) == good);
    CHECK(d.cuLinkDestroy(state) == good);
    CHECK(d.cuLinkDestroy(state) == CUDA_ERROR_INVALID_HANDLE);
    expect_misuse("use of a destroyed link state");
    CHECK(d.cuLinkDestroy(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a name that is defined twice is refused, and told in the log") {
    start();
    char log[256] = "";
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    const Link link({CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, values);
    CHECK(link.add(CU_JIT_INPUT_CUBIN, first) == good);
    CHECK(log[0] == '\0');
    CHECK(link.add(CU_JIT_INPUT_CUBIN, first) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::string(log).find("Multiple definition of 'one'") != std::string::npos);
    CHECK(reinterpret_cast<std::uintptr_t>(values[1]) == std::strlen(log));
    CHECK(link.add(CU_JIT_INPUT_CUBIN, "cushim-sim-image 1\nglobal counter size=8\n") ==
          CUDA_ERROR_INVALID_IMAGE);
    // What was refused is not in it.
    CHECK(link.add(CU_JIT_INPUT_PTX, second) == good);
    void *image = nullptr;
    CHECK(load_status(got(d.cuLinkComplete(link.get(), &image, nullptr), image)) == good);
}

TEST_CASE("names that are not visible to other inputs may be the same") {
    start();
    const auto of = [](const char *statements) {
        return std::string(".version 7.0\n.target sm_52\n") + statements;
    };
    const Link link;
    CHECK(link.add(CU_JIT_INPUT_PTX, of(".global .u32 own = 1;\n.global .u32 shown = 1;\n"
                                        ".weak .global .u32 weak = 1;\n.entry k() { ret; }\n"
                                        ".global .texref image;\n")) == good);
    CHECK(link.add(CU_JIT_INPUT_PTX, of(".global .u32 own = 2;\n.visible .global .u32 shown = 2;\n"
                                        ".weak .global .u32 weak = 2;\n.entry k() { ret; }\n"
                                        ".global .texref image;\n")) == good);
    // Of the three that are called so this is the module's.
    CHECK(link.add(CU_JIT_INPUT_PTX, of(".global .u32 shown = 3;\n"
                                        ".visible .entry k(.param .u64 a) { ret; }\n")) == good);
    CHECK(link.add(CU_JIT_INPUT_PTX, of(".visible .global .u32 shown = 4;\n")) ==
          CUDA_ERROR_INVALID_IMAGE);
    CHECK(link.add(CU_JIT_INPUT_PTX, of(".visible .entry k() { ret; }\n")) ==
          CUDA_ERROR_INVALID_IMAGE);
    void *image = nullptr;
    REQUIRE(d.cuLinkComplete(link.get(), &image, nullptr) == good);
    const LoadedModule module(image);
    const auto value = [&](const char *name) {
        int read = 0;
        CHECK(d.cuMemcpyDtoH(&read, module.global(name), sizeof read) == good);
        return read;
    };
    CHECK(value("own") == 1);
    CHECK(value("shown") == 2);
    CHECK(value("weak") == 1);
#if CUDA_VERSION >= 12040
    std::size_t offset = 0, size = 0;
    CHECK(got(d.cuFuncGetParamInfo(module.function("k"), 0, &offset, &size), size) == 8);
#endif
}

TEST_CASE("a library of objects is linked, of which nothing is read") {
    start();
    const auto member = [](const std::string &content, std::size_t size) {
        std::string header = "object.o/       0           0     0     644     ";
        header += std::to_string(size);
        header.resize(58, ' ');
        return header + "`\n" + content;
    };
    const std::string magic = "!<arch>\n";
    const std::string valid = magic + member("odd\n", 3) + member("last", 4);
    const auto path =
        std::filesystem::temp_directory_path() /
        ("cushim-library-test-" + std::to_string(reinterpret_cast<std::uintptr_t>(&valid) ^
                                                 static_cast<std::uintptr_t>(std::rand())));
    std::ofstream(path, std::ios::binary) << valid;
    char log[64] = "";
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    const Link link({CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, values);
    const auto add = [&](CUjitInputType type, std::string bytes) {
        return d.cuLinkAddData(link.get(), type, bytes.data(), bytes.size(), "mine.a", 0, nullptr,
                               nullptr);
    };
    CHECK(link.add(CU_JIT_INPUT_PTX, second) == good);
    CHECK(d.cuLinkAddFile(link.get(), CU_JIT_INPUT_LIBRARY, path.string().c_str(), 0, nullptr,
                          nullptr) == good);
    std::filesystem::remove(path);
    CHECK(add(CU_JIT_INPUT_LIBRARY, magic) == good);
    CHECK(add(CU_JIT_INPUT_OBJECT, valid) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(add(CU_JIT_INPUT_PTX, valid) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(log == std::string("mine.a: the image does not have the given input type\n"
                             "mine.a: the image does not have the given input type\n")
                     .substr(0, sizeof log - 1));
    for (const std::string &bad :
         {valid.substr(0, valid.size() - 1), valid.substr(0, 30), magic + member("last", 5),
          magic + member("", 3) + "much more", magic + std::string(60, ' '),
          magic + std::string(58, ' ') + "`\n"}) {
        INFO(bad);
        CHECK(add(CU_JIT_INPUT_LIBRARY, bad) == CUDA_ERROR_INVALID_IMAGE);
    }
    void *image = nullptr;
    REQUIRE(d.cuLinkComplete(link.get(), &image, nullptr) == good);
    const LoadedModule module(image);
    module.function("two");
}

TEST_CASE("bad inputs are refused") {
    start();
    char log[64] = "";
    void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
    const Link link({CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, values);
    CHECK(link.add(CU_JIT_INPUT_CUBIN, "garbage", "mine.cubin") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::string(log).find("mine.cubin") == 0);
    CHECK(link.add(CU_JIT_INPUT_PTX, ".version 7.0\n.target sm_52\nnonsense") ==
          CUDA_ERROR_INVALID_PTX);
    CHECK(link.add(CU_JIT_INPUT_PTX, ".version 99.0\n.target sm_52\n") ==
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(link.add(CU_JIT_INPUT_CUBIN, second) == CUDA_ERROR_INVALID_IMAGE); // PTX is no cubin
    CHECK(link.add(static_cast<CUjitInputType>(99), first) == invalid);
    CHECK(link.add(static_cast<CUjitInputType>(-1), first) == invalid);
    char byte = 'x';
    CHECK(d.cuLinkAddData(link.get(), CU_JIT_INPUT_PTX, nullptr, 1, nullptr, 0, nullptr, nullptr) ==
          invalid);
    CHECK(d.cuLinkAddData(link.get(), CU_JIT_INPUT_PTX, &byte, 0, nullptr, 0, nullptr, nullptr) ==
          invalid);
    CHECK(d.cuLinkAddData(nullptr, CU_JIT_INPUT_PTX, &byte, 1, nullptr, 0, nullptr, nullptr) ==
          CUDA_ERROR_INVALID_HANDLE);
    CUjit_option option = CU_JIT_WALL_TIME;
    void *value = nullptr;
    std::string text = first;
    CHECK(d.cuLinkAddData(link.get(), CU_JIT_INPUT_CUBIN, text.data(), text.size(), nullptr, 1,
                          &option, &value) == invalid);
    CHECK(d.cuLinkAddFile(link.get(), CU_JIT_INPUT_PTX, "/nowhere", 0, nullptr, nullptr) ==
          CUDA_ERROR_FILE_NOT_FOUND);
    CHECK(d.cuLinkAddFile(link.get(), CU_JIT_INPUT_PTX, nullptr, 0, nullptr, nullptr) == invalid);
    void *image = nullptr;
    CHECK(d.cuLinkComplete(link.get(), &image, nullptr) == invalid);
    CHECK(d.cuLinkComplete(link.get(), nullptr, nullptr) == invalid);
    CHECK(d.cuLinkComplete(nullptr, &image, nullptr) == CUDA_ERROR_INVALID_HANDLE);
    CUlinkState none = nullptr;
    option = static_cast<CUjit_option>(999);
    CHECK(d.cuLinkCreate(1, &option, &value, &none) == invalid);
    CHECK(d.cuLinkCreate(0, nullptr, nullptr, nullptr) == invalid);
}

TEST_CASE("an input is read from a file") {
    start();
    const auto path =
        std::filesystem::temp_directory_path() /
        ("cushim-link-test-" + std::to_string(reinterpret_cast<std::uintptr_t>(&first) ^
                                              static_cast<std::uintptr_t>(std::rand())));
    std::ofstream(path, std::ios::binary) << second;
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = reinterpret_cast<void *>(std::uintptr_t(18));
    CUmodule module = nullptr;
    {
        const Link link;
        CHECK(d.cuLinkAddFile(link.get(), CU_JIT_INPUT_PTX, path.string().c_str(), 1, &option,
                              &value) == good);
        std::filesystem::remove(path);
        void *image = nullptr;
        REQUIRE(d.cuLinkComplete(link.get(), &image, nullptr) == good);
        REQUIRE(d.cuModuleLoadData(&module, image) == good);
    }
    const CUfunction two = function_of(module, "two");
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, two) == 18);
    CHECK(d.cuModuleUnload(module) == good);
}
