// Valid and invalid images: the text form, PTX, cubins, fatbins, garbage.
#include "fatbins.hpp"
#include "images.hpp"

#include <tuple>

using namespace sim_test;

namespace {

const std::string text_head = "cushim-sim-image 1\n";
const std::string ptx_head = ".version 7.0\n.target sm_52\n.address_size 64\n";

struct Parameter {
    std::size_t offset, size;
    bool operator==(const Parameter &) const = default;
};

#if CUDA_VERSION >= 12040
std::vector<Parameter> parameters_of(CUfunction function) {
    std::vector<Parameter> found;
    Parameter next{};
    while (driver().cuFuncGetParamInfo(function, found.size(), &next.offset, &next.size) ==
           CUDA_SUCCESS) {
        found.push_back(next);
    }
    return found;
}
#endif

int attribute(CUfunction function, CUfunction_attribute which) {
    return got<int>(&Driver::cuFuncGetAttribute, out, which, function);
}

template <class T>
T value_of(const LoadedModule &module, const char *variable) {
    return got<T>(&Driver::cuMemcpyDtoH, out, module.global(variable), sizeof(T));
}

std::string note(unsigned int kind, std::initializer_list<unsigned int> words) {
    std::string bytes = little(4, 1) + little(kind, 1) + little(words.size() * 4, 2);
    for (const unsigned int word : words) {
        bytes += little(word, 4);
    }
    return bytes;
}

std::string symbol(unsigned int name, unsigned int info, unsigned int other, unsigned int home,
                   std::size_t size) {
    return little(name, 4) + little(info, 1) + little(other, 1) + little(home, 2) + little(0, 8) +
           little(size, 8);
}

// A minimal cubin with one kernel and one variable.
std::string cubin(unsigned int architecture) {
    std::string body, sections;
    const auto section = [&](unsigned int name, unsigned int type, unsigned int link,
                             std::string content) {
        sections += little(name, 4) + little(type, 4) + little(0, 8) + little(0, 8) +
                    little(64 + body.size(), 8) + little(content.size(), 8) + little(link, 4) +
                    std::string(20, '\0');
        content.resize((content.size() + 7) / 8 * 8);
        body += content;
    };
    section(0, 0, 0, "");
    const char names[] = "\0.nv.info.run\0.symtab\0.nv.global.init\0.text.run\0.nv.info\0";
    section(0, 3, 0, std::string(names, 57));
    section(0, 3, 0, std::string("\0run\0counter\0", 13));
    section(14, 2, 2,
            std::string(24, '\0') + symbol(1, 0x12, 0x10, 5, 256) + symbol(5, 0x11, 0, 4, 4));
    section(22, 1, 0, little(5, 4));
    section(38, 1, 0, little(5, 4));
    section(1, 0x70000000, 3,
            note(0x17, {0, 8U << 16 | 1, 4U << 18}) + note(0x17, {0, 0, 8U << 18}) +
                note(0x05, {128, 1, 1}));
    section(48, 0x70000000, 3, note(0x2f, {1, 77}));
    return little(0x464c457f, 4) + little(0x41010102, 4) + little(0, 8) + little(2, 2) +
           little(190, 2) + little(1, 4) + std::string(16, '\0') + little(64 + body.size(), 8) +
           little(architecture << 8, 4) + little(64, 2) + little(0, 4) + little(64, 2) +
           little(8, 2) + little(1, 2) + body + sections;
}

} // namespace

TEST_CASE("loading garbage or an empty image fails with INVALID_IMAGE") {
    for (const char *garbage : {"garbage", "", "\n\n  \t ", "\x7f",
                                "\x7f"
                                "ELF",
                                "\x50\xed", "// only a comment", "/* without an end"}) {
        INFO(garbage);
        CHECK(load_status(garbage) == CUDA_ERROR_INVALID_IMAGE);
    }
    CHECK(load_status(nullptr) == invalid);
    const std::string zeros(4096, '\0');
    CHECK(load_status(zeros.data()) == CUDA_ERROR_INVALID_IMAGE);
    std::string elf = cubin(90);
    elf[18] = 62; // another machine's
    CHECK(load_status(elf.data()) == CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("the text form defines kernels, parameters and variables") {
    const LoadedModule module;
    for (const char *name : {"add", "nothing", "mixed"}) {
        CHECK(module.function(name) != nullptr);
    }
    const CUfunction mixed = module.function("mixed");
    CHECK(attribute(mixed, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 256);
    CHECK(attribute(mixed, CU_FUNC_ATTRIBUTE_NUM_REGS) == 40);
    CHECK(attribute(mixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 1024);
    CHECK(attribute(mixed, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 96);
    CHECK(attribute(mixed, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) == 64);
#if CUDA_VERSION >= 12040
    CHECK(parameters_of(module.function("add")) ==
          std::vector<Parameter>{{0, 8}, {8, 8}, {16, 8}, {24, 4}});
    CHECK(parameters_of(mixed) ==
          std::vector<Parameter>{{0, 1}, {2, 2}, {8, 8}, {16, 4}, {24, 16}, {40, 3}});
    CHECK(parameters_of(module.function("nothing")).empty());
#endif
    CHECK(value_of<int>(module, "counter") == 42);
    const auto table = value_of<std::array<unsigned char, 64>>(module, "table");
    CHECK(table[0] == 1);
    CHECK(table[1] == 2);
    CHECK(table[63] == 0);
}

TEST_CASE("an error in the text form is reported with its line") {
    const std::pair<const char *, const char *> faults[] = {
        {"kernel", "line 2: a name is missing"},
        {"kernel a\nkernel a", "line 3: duplicate kernel a"},
        {"kernel a params=8,x", "'x' is not a number"},
        {"kernel a params=0", "a parameter has 0 bytes"},
        {"kernel a params=8:3", "power of two"},
        {"kernel a params=32760,8", "too many parameters"},
        {"kernel a params=99999999999999999999", "is not a number"},
        {"kernel a max_threads=0", "0 threads"},
        {"kernel a registers=256", "exceeds the limit of 255"},
        {"kernel a colour=red", "no attribute 'colour'"},
        {"kernel a cluster=1,2", "three dimensions"},
        {"kernel a cluster=1,2,0", "three dimensions"},
        {"kernel a cluster=1,2,3,4", "three dimensions"},
        {"global g", "a variable must have a size"},
        {"global g size=0", "a variable must have a size"},
        {"global g size=1 init=0102", "longer than"},
        {"global g size=4 init=012", "two digits for a byte"},
        {"global g size=4 init=zz", "hexadecimal"},
        {"global g size=4\nconstant g size=4", "duplicate variable g"},
        {"texture t t", "'t' is not understood"},
        {"texture t\ntexture t", "a second texture t"},
        {"target 9.0", "cc=9.0"},
        {"nonsense", "'nonsense' is not understood"},
        {"kernel add para", "no attribute 'para'"}, // cut off
    };
    for (const auto &[text, problem] : faults) {
        INFO(text);
        const std::string log = error_of(text_head + text, CUDA_ERROR_INVALID_IMAGE);
        CHECK(log.find(problem) != std::string::npos);
        INFO(log);
        CHECK(log.find("cushim-sim-image, line ") == 0);
    }
    CHECK(error_of("cushim-sim-image 2\n", CUDA_ERROR_INVALID_IMAGE).find("line 1") !=
          std::string::npos);
    ok(load_status("cushim-sim-image 1"));
    ok(load_status("cushim-sim-image 1\r\n# nothing\r\nkernel a params=0x8\r\n"));
}

TEST_CASE("a text image for another device fails with NO_BINARY_FOR_GPU") {
    start("cc=9.0");
    ok(load_status("cushim-sim-image 1\ntarget cc=9.0\n"));
    CHECK(load_status("cushim-sim-image 1\ntarget cc=8.0\n") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(load_status("cushim-sim-image 1\ntarget cc=9.1\n") == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("PTX defines entries, parameters and variables") {
    const std::string ptx = "//\n// a comment\n/* another\n one */\n" + ptx_head + R"(
.visible .global .align 4 .u32 counter = 42;
.visible .const .align 4 .b8 table[64] = {1, 2, 0xff};
.global .attribute(.managed) .align 4 .b8 flags[16];
.global .align 8 .u64 pointer = generic(counter)+8;
.visible .global .align 4 .f32 values[] = {0f3F800000, 0f40000000};
.extern .shared .align 4 .b8 dynamic[];
.global .texref image;
.global .surfref target;
.extern .func (.param .b32 func_retval0) vprintf (.param .b64 a, .param .b64 b);
.func helper(.param .b32 x) { ret; }
.visible .entry add(
    .param .u64 .ptr .global .align 16 add_param_0,
    .param .u64 add_param_1, .param .align 8 .b8 add_param_2[24], .param .u8 c, .param .f32 d
)
.maxntid 256, 2, 1
.minnctapersm 2
{
    .reg .pred %p<2>;
    .reg .b32 %r<3>;
    .reg .b64 %rd<9>;
    .reg .f32 %f<5>;
    .shared .align 4 .b8 tile[128];
    .local .align 8 .b8 depot[40];
    .loc 1 12 3
    ld.param.u64 %rd1, [add_param_0];
    mov.u32 %r1, %ctaid.x;
    @!%p1 bra $L__BB0_2;
    { // a block in the block
    .param .b64 param0;
    .param .b64 param1;
    .param .b32 retval0;
    call.uni (retval0), vprintf, (param0, param1);
    }
    ld.global.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+16];
    atom.global.add.u32 %r2, [%rd1], -1;
    st.shared::cta.b32 [tile], %r2;
$L__BB0_2:
    ret;
}
.entry other() .reqnctapercluster 2, 1, 1 { ret; }
)";
    const LoadedModule module(ptx.c_str());
    const CUfunction add = module.function("add");
    CHECK(attribute(add, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 512);
    CHECK(attribute(add, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) == 128);
    CHECK(attribute(add, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) == 40);
    CHECK(attribute(add, CU_FUNC_ATTRIBUTE_PTX_VERSION) == 52);
#if CUDA_VERSION >= 12040
    CHECK(parameters_of(add) == std::vector<Parameter>{{0, 8}, {8, 8}, {16, 24}, {40, 1}, {44, 4}});
    CHECK(parameters_of(module.function("other")).empty());
#endif
    CHECK(value_of<int>(module, "counter") == 42);
    const auto table = value_of<std::array<unsigned char, 64>>(module, "table");
    CHECK((table[0] == 1 && table[1] == 2 && table[2] == 255 && table[3] == 0));
    float values[2] = {};
    std::size_t size = 0;
    CUdeviceptr address = 0;
    CHECK(got(driver().cuModuleGetGlobal(&address, &size, module, "values"), size) ==
          sizeof values);
    ok(driver().cuMemcpyDtoH(values, address, size));
    CHECK((values[0] == 1.0F && values[1] == 2.0F));
    CUfunction none = nullptr;
    CHECK(driver().cuModuleGetFunction(&none, module, "helper") == CUDA_ERROR_NOT_FOUND);
}

TEST_CASE("malformed PTX fails with INVALID_PTX, without .version with INVALID_IMAGE") {
    CHECK(load_status(".target sm_52\n.version 7.0\n") == CUDA_ERROR_INVALID_IMAGE);
    ok(load_status(ptx_head.c_str()));
    const char *bad[] = {
        "this is not ptx",
        ".visible .entry f( { ret; }",
        ".visible .entry f() { ret; ",
        ".visible .entry f() { this is not ptx; }",
        ".visible .entry f() { nonsense; }",
        ".visible .entry f() { @%p nonsense; }",
        ".visible .entry f() { ret }",
        ".visible .entry f(.param .u64 a, ) { ret; }",
        ".visible .entry f(.param .nonsense a) { ret; }",
        ".visible .entry f(.param .align 3 .b8 a[4]) { ret; }",
        ".visible .entry f() { ret; } .visible .entry f() { ret; }",
        ".nonsense",
        ".global .u32 x",
        ".global .u32 x = {1, 2;",
        ".global .u32 x[99999999999999999999];",
        "}",
        ".entry",
        "\"text without end",
    };
    for (const char *body : bad) {
        INFO(body);
        CHECK(load_status((ptx_head + body).c_str()) == CUDA_ERROR_INVALID_PTX);
    }
    CHECK(load_status(".version\n.target sm_52\n") == CUDA_ERROR_INVALID_PTX);
    CHECK(load_status(".version 7.0\n") == CUDA_ERROR_INVALID_PTX);
    CHECK(load_status(".version 7.0\n.target texmode_unified\n") == CUDA_ERROR_INVALID_PTX);
    CHECK(error_of(ptx_head + "\n.visible .entry f() { ret }", CUDA_ERROR_INVALID_PTX)
              .find("line 5") != std::string::npos);
}

TEST_CASE("PTX that is newer than the driver or the device fails to load") {
    start("cc=8.6;driver=12040");
    const auto version = [](const std::string &number, const std::string &target) {
        return load_status((".version " + number + "\n.target " + target + "\n").c_str());
    };
    ok(version("8.4", "sm_80"));
    CHECK(version("8.5", "sm_80") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    CHECK(version("9.0", "sm_80") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    ok(version("8.4", "sm_86"));
    CHECK(version("8.4", "sm_90") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(version("8.4", "sm_90a, debug") == CUDA_ERROR_NO_BINARY_FOR_GPU);
    for (const char *version : {"599999999.0", "8.599999999", "99999999999999999999.0"}) {
        INFO(version);
        CHECK(error_of(std::string(".version ") + version + "\n.target sm_80\n",
                       CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
                  .find("Unsupported .version") != std::string::npos);
    }
    CHECK(load_status((".version 7.0\n.target sm_99999999999\n")) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(error_of(".version 9.9\n.target sm_80\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
              .find("current version is '8.4'") != std::string::npos);
    for (const auto &[driver, newest, next] :
         {std::tuple{"driver=11080", "7.8", "8.0"}, std::tuple{"driver=12000", "8.0", "8.1"},
          std::tuple{"driver=12090", "8.8", "9.0"}, std::tuple{"driver=13000", "9.0", "9.1"}}) {
        configure(driver);
        INFO(driver);
        ok(version(newest, "sm_80"));
        CHECK(version(next, "sm_80") == CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
    }
}

TEST_CASE("a cubin defines a kernel and a variable") {
    start("cc=9.0");
    const LoadedModule module(cubin(90).data());
    const CUfunction run = module.function("run");
    CHECK(attribute(run, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) == 128);
    CHECK(attribute(run, CU_FUNC_ATTRIBUTE_NUM_REGS) == 77);
    CHECK(attribute(run, CU_FUNC_ATTRIBUTE_BINARY_VERSION) == 90);
#if CUDA_VERSION >= 12040
    CHECK(parameters_of(run) == std::vector<Parameter>{{0, 8}, {8, 4}});
#endif
    CHECK(value_of<int>(module, "counter") == 5);
    CHECK(load_status(cubin(80).data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
}

TEST_CASE("loading a cubin whose parameters overlap fails with INVALID_IMAGE") {
    start("cc=9.0");
    std::string bytes = cubin(90);
    // The size of the first parameter; the second parameter begins after 8 bytes.
    const std::size_t size = bytes.find(little(8U << 18, 4));
    REQUIRE(size != bytes.npos);
    bytes.replace(size, 4, little(9U << 18, 4));
    CHECK(load_status(bytes.data()) == CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("loading a fatbin selects the best image for the device") {
    start("cc=9.0");
    const std::string ptx = ptx_head + ".visible .entry from_ptx() { ret; }";
    const auto has = [](const std::string &image, const char *name) {
        const LoadedModule module(image.data());
        CUfunction function = nullptr;
        return driver().cuModuleGetFunction(&function, module, name) == CUDA_SUCCESS;
    };
    const std::string both = fatbin(fatbin_entry(1, 52, ptx) + fatbin_entry(2, 90, cubin(90)));
    CHECK(has(both, "run"));
    const std::string only_ptx = fatbin(fatbin_entry(2, 80, cubin(80)) + fatbin_entry(1, 52, ptx));
    CHECK(has(only_ptx, "from_ptx"));
    CHECK(load_status(fatbin(fatbin_entry(2, 80, cubin(80))).data()) ==
          CUDA_ERROR_NO_BINARY_FOR_GPU);
    CHECK(load_status(fatbin("").data()) == CUDA_ERROR_NO_BINARY_FOR_GPU);
    // nvcc passes a structure that points at the fatbin.
    FatBinary wrapper;
    wrapper.data = both.data();
    ok(driver().cuModuleUnload(got<CUmodule>(&Driver::cuModuleLoadFatBinary, out, &wrapper)));
    wrapper.data = nullptr;
    CHECK(load_status(&wrapper) == CUDA_ERROR_INVALID_IMAGE);
}

TEST_CASE("loading truncated and damaged images returns a status") {
    start("cc=9.0");
    const std::string whole = cubin(90);
    const std::string ptx = ptx_head + ".visible .entry f(.param .u64 a) { ret; }\n";
    const std::string packed = fatbin(fatbin_entry(1, 52, ptx) + fatbin_entry(2, 90, whole));
    // Passed by size, as to the linker: bytes after the end must not be read.
    const auto add = [](const std::string &bytes, CUjitInputType type) {
        const auto link = got<CUlinkState>(&Driver::cuLinkCreate, 0, nullptr, nullptr, out);
        std::vector<char> exact(bytes.begin(), bytes.end());
        const CUresult status = driver().cuLinkAddData(link, type, exact.data(), exact.size(),
                                                       "input", 0, nullptr, nullptr);
        ok(driver().cuLinkDestroy(link));
        return status;
    };
    for (std::size_t length = 1; length < whole.size(); ++length) {
        INFO(length);
        CHECK(add(whole.substr(0, length), CU_JIT_INPUT_CUBIN) == CUDA_ERROR_INVALID_IMAGE);
    }
    ok(add(whole, CU_JIT_INPUT_CUBIN));
    for (std::size_t length = 1; length < packed.size(); ++length) {
        CHECK(add(packed.substr(0, length), CU_JIT_INPUT_FATBINARY) == CUDA_ERROR_INVALID_IMAGE);
    }
    ok(add(packed, CU_JIT_INPUT_FATBINARY));
    for (std::size_t length = 1; length < ptx.size(); ++length) {
        const CUresult status = add(ptx.substr(0, length), CU_JIT_INPUT_PTX);
        CHECK((status == CUDA_ERROR_INVALID_IMAGE || status == CUDA_ERROR_INVALID_PTX ||
               status == CUDA_SUCCESS));
    }
    // Each byte damaged: any status will do.
    for (const std::string &valid : {whole, packed, ptx}) {
        for (std::size_t i = 0; i < valid.size(); ++i) {
            for (const char change : {'\xff', '\x01', '\x80'}) {
                std::string bad = valid;
                bad[i] = static_cast<char>(bad[i] ^ change);
                add(bad, CU_JIT_INPUT_LIBRARY);
            }
        }
    }
}
