// The linker: joins inputs, rejects duplicate visible names, accepts libraries, writes logs.
#include "images.hpp"

#include <optional>

using namespace sim_test;

namespace {

constexpr char first[] = "cushim-sim-image 1\nkernel one params=8,4 registers=20\n"
                         "global counter size=4 init=05000000\ntexture image\n";
constexpr char second[] = ".version 7.0\n.target sm_52\n"
                          ".visible .entry two(.param .u64 a) { ret; }\n";

CUresult add_to(CUlinkState state, CUjitInputType type, const char *bytes, std::size_t size,
                const char *name = nullptr) {
    return driver().cuLinkAddData(state, type, const_cast<char *>(bytes), size, name, 0, nullptr,
                                  nullptr);
}

class Link : Unique {
  public:
    explicit Link(std::vector<CUjit_option> options = {}, void **values = nullptr) {
        require_ok(driver().cuLinkCreate(static_cast<unsigned int>(options.size()), options.data(),
                                         values, &state_));
    }
    ~Link() { ok(driver().cuLinkDestroy(state_)); }

    CUlinkState get() const { return state_; }
    CUresult add(CUjitInputType type, const std::string &text, const char *name = "input") const {
        return add_to(state_, type, text.data(), text.size() + 1, name);
    }
    CUresult add_file(const char *path, CUjitInputType type = CU_JIT_INPUT_PTX) const {
        return driver().cuLinkAddFile(state_, type, path, 0, nullptr, nullptr);
    }
    void *complete() const {
        void *image = nullptr;
        require_ok(driver().cuLinkComplete(state_, &image, nullptr));
        return image;
    }

  private:
    CUlinkState state_ = nullptr;
};

// A link with an error log.
struct LoggedLink {
    char log[256] = "";
    void *values[2] = {log, reinterpret_cast<void *>(sizeof log)};
    const Link link{{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES}, values};
};

} // namespace

TEST_CASE("inputs are linked into one image") {
    std::optional<LoadedModule> module;
    {
        const Link link;
        ok(link.add(CU_JIT_INPUT_CUBIN, first));
        ok(link.add(CU_JIT_INPUT_PTX, second));
        void *image = nullptr;
        CHECK(got<std::size_t>(&Driver::cuLinkComplete, link.get(), &image, out) > 1);
        CHECK(link.complete() == image);
        CHECK(link.add(CU_JIT_INPUT_PTX, second) == invalid);
        module.emplace(image);
    }
    const CUfunction one = module->function("one");
    module->function("two");
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS, one) == 20);
    CHECK(got<int>(&Driver::cuMemcpyDtoH, out, module->global("counter"), 4) == 5);
    CHECK(got<CUtexref>(&Driver::cuModuleGetTexRef, out, *module, "image") != nullptr);
}

TEST_CASE("only creating a link needs a current context") {
    const auto state = got<CUlinkState>(&Driver::cuLinkCreate, 0, nullptr, nullptr, out);
    CHECK(leaks().size() == 1);
    pop_current();
    CUlinkState none = nullptr;
    CHECK(driver().cuLinkCreate(0, nullptr, nullptr, &none) == CUDA_ERROR_INVALID_CONTEXT);
    ok(add_to(state, CU_JIT_INPUT_CUBIN, first, sizeof first - 1));
    ok(driver().cuLinkDestroy(state));
    check_misuse(driver().cuLinkDestroy(state), CUDA_ERROR_INVALID_HANDLE,
                 "use of a destroyed link state");
    CHECK(driver().cuLinkDestroy(nullptr) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("a name that is defined twice is rejected and logged") {
    const LoggedLink logged;
    const Link &link = logged.link;
    ok(link.add(CU_JIT_INPUT_CUBIN, first));
    CHECK(logged.log[0] == '\0');
    CHECK(link.add(CU_JIT_INPUT_CUBIN, first) == CUDA_ERROR_UNKNOWN);
    CHECK(std::string(logged.log).find("Multiple definition of 'one'") != std::string::npos);
    CHECK(reinterpret_cast<std::uintptr_t>(logged.values[1]) == std::strlen(logged.log));
    CHECK(link.add(CU_JIT_INPUT_CUBIN, "cushim-sim-image 1\nglobal counter size=8\n") ==
          CUDA_ERROR_UNKNOWN);
    ok(link.add(CU_JIT_INPUT_PTX, second));
    void *image = nullptr;
    std::size_t size = 0;
    CHECK(driver().cuLinkComplete(link.get(), &image, &size) == CUDA_ERROR_UNKNOWN);
}

TEST_CASE("names that are not visible to other inputs may repeat") {
    const auto of = [](const std::string &statements) {
        return std::string(".version 7.0\n.target sm_52\n") + statements;
    };
    for (const std::string again :
         {".visible .global .u32 shown;\n", ".visible .entry k() { ret; }\n",
          ".visible .func f() { ret; }\n"}) {
        INFO(again);
        const Link twice;
        ok(twice.add(CU_JIT_INPUT_PTX, of(again)));
        CHECK(twice.add(CU_JIT_INPUT_PTX, of(again)) == CUDA_ERROR_UNKNOWN);
    }
    const Link link;
    ok(link.add(CU_JIT_INPUT_PTX, of(".global .u32 own = 1;\n.global .u32 shown = 1;\n"
                                     ".weak .global .u32 weak = 1;\n.entry k() { ret; }\n"
                                     ".global .texref image;\n")));
    ok(link.add(CU_JIT_INPUT_PTX, of(".global .u32 own = 2;\n.visible .global .u32 shown = 2;\n"
                                     ".weak .global .u32 weak = 2;\n.entry k() { ret; }\n"
                                     ".global .texref image;\n")));
    // The module has this one of the three kernels named k.
    ok(link.add(CU_JIT_INPUT_PTX, of(".global .u32 shown = 3;\n"
                                     ".visible .entry k(.param .u64 a) { ret; }\n")));
    const LoadedModule module(link.complete());
    const auto value = [&](const char *name) {
        return got<int>(&Driver::cuMemcpyDtoH, out, module.global(name), sizeof(int));
    };
    CHECK(value("own") == 1);
    CHECK(value("shown") == 2);
    CHECK(value("weak") == 1);
#if CUDA_VERSION >= 12040
    std::size_t offset = 0, size = 0;
    CHECK(got(driver().cuFuncGetParamInfo(module.function("k"), 0, &offset, &size), size) == 8);
#endif
}

TEST_CASE("a library of objects is accepted without reading its members") {
    const auto member = [](const std::string &content, std::size_t size) {
        std::string header = "object.o/       0           0     0     644     ";
        header += std::to_string(size);
        header.resize(58, ' ');
        return header + "`\n" + content;
    };
    const std::string magic = "!<arch>\n";
    const std::string valid = magic + member("odd\n", 3) + member("last", 4);
    const LoggedLink logged;
    const Link &link = logged.link;
    const auto add = [&](CUjitInputType type, const std::string &bytes) {
        return add_to(link.get(), type, bytes.data(), bytes.size(), "mine.a");
    };
    ok(link.add(CU_JIT_INPUT_PTX, second));
    ok(link.add_file(TemporaryFile(valid).path().c_str(), CU_JIT_INPUT_LIBRARY));
    ok(add(CU_JIT_INPUT_LIBRARY, magic));
    CHECK(add(CU_JIT_INPUT_OBJECT, valid) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(add(CU_JIT_INPUT_PTX, valid) == CUDA_ERROR_INVALID_IMAGE);
    CHECK(logged.log == std::string("mine.a: the image does not have the given input type\n"
                                    "mine.a: the image does not have the given input type\n"));
    for (const std::string &bad :
         {valid.substr(0, valid.size() - 1), valid.substr(0, 30), magic + member("last", 5),
          magic + member("", 3) + "much more", magic + std::string(60, ' '),
          magic + std::string(58, ' ') + "`\n"}) {
        INFO(bad);
        CHECK(add(CU_JIT_INPUT_LIBRARY, bad) == CUDA_ERROR_INVALID_IMAGE);
    }
    const LoadedModule module(link.complete());
    module.function("two");
}

TEST_CASE("invalid inputs of a link are rejected") {
    const LoggedLink logged;
    const Link &link = logged.link;
    CHECK(link.add(CU_JIT_INPUT_CUBIN, "garbage", "mine.cubin") == CUDA_ERROR_INVALID_IMAGE);
    CHECK(std::string(logged.log).find("mine.cubin") == 0);
    CHECK(link.add(CU_JIT_INPUT_PTX, ".version 7.0\n.target sm_52\nnonsense") ==
          CUDA_ERROR_INVALID_PTX);
    CHECK(link.add(CU_JIT_INPUT_PTX, ".version 99.0\n.target sm_52\n") ==
          CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(link.add(CU_JIT_INPUT_CUBIN, second) ==
          CUDA_ERROR_INVALID_IMAGE); // PTX instead of a cubin
    CUjit_option late = CU_JIT_WALL_TIME;
    void *value = nullptr, *image = nullptr;
    std::string text = first;
    check_all(invalid,
              {link.add(static_cast<CUjitInputType>(99), first),
               link.add(static_cast<CUjitInputType>(-1), first),
               add_to(link.get(), CU_JIT_INPUT_PTX, nullptr, 1),
               add_to(link.get(), CU_JIT_INPUT_PTX, "x", 0),
               driver().cuLinkAddData(link.get(), CU_JIT_INPUT_CUBIN, text.data(), text.size(),
                                      nullptr, 1, &late, &value),
               link.add_file(nullptr), driver().cuLinkComplete(link.get(), &image, nullptr)});
}

TEST_CASE("an input of a link can be a file") {
    const TemporaryFile file(second);
    CUjit_option option = CU_JIT_MAX_REGISTERS;
    void *value = reinterpret_cast<void *>(std::uintptr_t(18));
    const Link link;
    ok(driver().cuLinkAddFile(link.get(), CU_JIT_INPUT_PTX, file.path().c_str(), 1, &option,
                              &value));
    const LoadedModule module(link.complete());
    CHECK(got<int>(&Driver::cuFuncGetAttribute, out, CU_FUNC_ATTRIBUTE_NUM_REGS,
                   module.function("two")) == 18);
}
