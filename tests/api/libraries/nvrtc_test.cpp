// Compilation with NVRTC: a fake one, an older fake, none, and the real one.
#include <cushim/module.hpp>
#include <cushim/nvrtc.hpp>
#include <cushim/nvrtc_library.h>

#include "../../support/contains.hpp"
#include "../../support/failing_allocation.hpp"
#include "../../support/in_threads.hpp"
#include "fake.hpp"

#include <atomic>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

using cushim::Api;
using cushim::CodeImage;
using cushim::CompiledCode;
using cushim::CompileOptions;
using cushim::CompileOutput;
using cushim::Device;
using cushim::ErrorKind;
using cushim::JitLog;
using cushim::Version;
using library_test::Fake;
using library_test::message;
using library_test::ok;
using support::contains;

static_assert(std::is_nothrow_move_constructible_v<CompiledCode> &&
              std::is_nothrow_move_assignable_v<CompiledCode> &&
              !std::is_copy_constructible_v<CompiledCode>);
static_assert(std::is_convertible_v<const CompiledCode &, CodeImage>);

namespace {

constexpr const char *source = "__global__ void f() {}";

std::string text_of(const CompiledCode &code) {
    CHECK(code.data()[code.size()] == '\0');
    return {code.data(), code.size()};
}

// The fake, with what only it has.
struct FakeNvrtc : Fake {
    FakeNvrtc() : Fake("CUSHIM_NVRTC") { set_architectures({75, 80, 90}); }
    ~FakeNvrtc() {
        produce_nothing(false);
        lower_names(true);
        count_architectures(-1);
    }

    void set_architectures(const std::vector<int> &numbers) const {
        function<void(int, const int *)>("fake_set_architectures")(static_cast<int>(numbers.size()),
                                                                   numbers.data());
    }
    void produce_nothing(bool nothing) const {
        function<void(bool)>("fake_produce_nothing")(nothing);
    }
    void lower_names(bool lower) const { function<void(bool)>("fake_lower_names")(lower); }
    void count_architectures(int count) const {
        function<void(int)>("fake_count_architectures")(count);
    }
};

// The first device of the simulator, and its architecture.
struct First {
    Device device = ok(Device::get(0));
    int number = ok(device.compute_capability()).major_version * 10 +
                 ok(device.compute_capability()).minor_version;
};

struct Headers {
    const cushim::SourceHeader headers[2] = {{"a.h", "int a;"}, {"b.h", "int b;"}};
    const char *const flags[2] = {"-std=c++20", "-DX=1"};
    const char *const names[2] = {"f<int>", "&table"};
    CompileOptions options = {.name = "f.cu",
                              .output = CompileOutput::loadable,
                              .flags = flags,
                              .headers = headers,
                              .name_expressions = names};
};

} // namespace

TEST_CASE("a compilation passes name, headers, flags and name expressions to NVRTC", "[fake]") {
    const FakeNvrtc fake;
    const Headers given;
    JitLog log;
    const CompiledCode code = ok(CompiledCode::compile("sm_90a", source, given.options, &log));
    CHECK(fake.calls() == "nvrtcCreateProgram f.cu a.h b.h int a; int b;\n"
                          "nvrtcAddNameExpression f<int>\n"
                          "nvrtcAddNameExpression &table\n"
                          "nvrtcCompileProgram -arch=sm_90a -std=c++20 -DX=1\n"
                          "nvrtcGetProgramLogSize\n"
                          "nvrtcGetProgramLog\n"
                          "nvrtcGetCUBINSize\n"
                          "nvrtcGetCUBIN\n"
                          "nvrtcGetLoweredName f<int>\n"
                          "nvrtcGetLoweredName &table\n"
                          "nvrtcDestroyProgram\n");
    CHECK(text_of(code) == "cubin -arch=sm_90a -std=c++20 -DX=1");
    CHECK(std::string(ok(code.lowered_name("f<int>"))) == "_Zf<int>2");
    CHECK(std::string(ok(code.lowered_name("&table"))) == "_Z&table2");
    CHECK(message(code.lowered_name("f<float>")) ==
          "CompiledCode::lowered_name: \"f<float>\" is not one of "
          "CompileOptions::name_expressions of the compilation");
    CHECK(message(code.lowered_name(nullptr)) ==
          "CompiledCode::lowered_name: the name expression is null");
}

TEST_CASE("the architecture and the requested output decide what is produced", "[fake]") {
    const FakeNvrtc fake;
    struct Case {
        const char *architecture;
        CompileOutput requested, produced;
        const char *code;
    };
    for (const Case &each : {
             Case{"sm_90", CompileOutput::loadable, CompileOutput::cubin, "cubin -arch=sm_90"},
             Case{"compute_90", CompileOutput::loadable, CompileOutput::ptx,
                  "PTX -arch=compute_90"},
             Case{"sm_100f", CompileOutput::ptx, CompileOutput::ptx, "PTX -arch=sm_100f"},
             Case{"sm_80", CompileOutput::cubin, CompileOutput::cubin, "cubin -arch=sm_80"},
             Case{"sm_80", CompileOutput::lto_ir, CompileOutput::lto_ir,
                  "LTO IR -arch=sm_80 -dlto"},
         }) {
        INFO(each.architecture << " " << to_text(each.requested).c_str());
        const CompiledCode code =
            ok(CompiledCode::compile(each.architecture, source, {.output = each.requested}));
        CHECK(code.output() == each.produced);
        CHECK(text_of(code) == each.code);
    }
}

TEST_CASE("a device that NVRTC knows gets machine code, a newer one PTX", "[fake]") {
    const FakeNvrtc fake;
    const First first;
    const std::string number = std::to_string(first.number);
    const std::string before = std::to_string(first.number - 1);
    struct Case {
        std::vector<int> known;
        CompileOutput requested;
        std::string code;
    };
    const int older = first.number - 1, newer = first.number + 10;
    for (const Case &each : {
             Case{
                 {older, first.number, newer}, CompileOutput::loadable, "cubin -arch=sm_" + number},
             Case{{first.number}, CompileOutput::cubin, "cubin -arch=sm_" + number},
             Case{{first.number}, CompileOutput::ptx, "PTX -arch=compute_" + number},
             Case{{older, newer}, CompileOutput::loadable, "PTX -arch=compute_" + before},
             Case{{older, newer}, CompileOutput::ptx, "PTX -arch=compute_" + before},
             Case{{older}, CompileOutput::lto_ir, "LTO IR -arch=compute_" + before + " -dlto"},
         }) {
        fake.set_architectures(each.known);
        CHECK(text_of(ok(CompiledCode::compile(first.device, source,
                                               {.output = each.requested}))) == each.code);
    }

    const std::string of_device = "device 0, whose compute capability is " +
                                  std::to_string(first.number / 10) + "." +
                                  std::to_string(first.number % 10);
    const std::string version = to_text(ok(CompiledCode::compiler_version())).c_str();
    fake.set_architectures({older, newer});
    const auto cubin =
        CompiledCode::compile(first.device, source, {.output = CompileOutput::cubin});
    CHECK(message(cubin) ==
          "CompiledCode::compile: NVRTC " + version + " has no machine code for " + of_device +
              "; request CompileOutput::loadable or CompileOutput::ptx, or install a newer NVRTC");
    CHECK(cubin.error().kind() == ErrorKind::not_supported_by_device);
    fake.set_architectures({newer});
    CHECK(message(CompiledCode::compile(first.device, source)) ==
          "CompiledCode::compile: NVRTC " + version + " no longer supports " + of_device +
              "; use an older NVRTC");
}

TEST_CASE("an argument that NVRTC would not reject by itself is invalid", "[fake]") {
    const FakeNvrtc fake;
    const char *const one_null[] = {"-w", nullptr};
    const cushim::SourceHeader no_name[] = {{nullptr, "x"}}, no_text[] = {{"x.h", nullptr}};
    struct Case {
        const char *architecture, *source;
        CompileOptions options;
        const char *reason;
    };
    for (const Case &each : {
             Case{"sm_90", nullptr, {}, "the source is null"},
             Case{"sm_90", source, {.name = nullptr}, "CompileOptions::name is null"},
             Case{"sm_90",
                  source,
                  {.output = static_cast<CompileOutput>(77)},
                  "CompileOptions::output is CompileOutput(77), which is not an enumerator"},
             Case{"sm_90", source, {.flags = one_null}, "CompileOptions::flags[1] is null"},
             Case{"sm_90",
                  source,
                  {.name_expressions = one_null},
                  "CompileOptions::name_expressions[1] is null"},
             Case{"sm_90", source, {.headers = no_name}, "CompileOptions::headers[0] has no name"},
             Case{"sm_90", source, {.headers = no_text}, "CompileOptions::headers[0] has no text"},
             Case{nullptr, source, {}, "the architecture is null"},
             Case{"sm_9",
                  source,
                  {},
                  "the architecture \"sm_9\" does not have the form sm_90, sm_90a or compute_90"},
             Case{"90",
                  source,
                  {},
                  "the architecture \"90\" does not have the form sm_90, sm_90a or compute_90"},
             Case{"sm_90x1",
                  source,
                  {},
                  "the architecture \"sm_90x1\" does not have the form sm_90, sm_90a or "
                  "compute_90"},
             Case{"compute_90",
                  source,
                  {.output = CompileOutput::cubin},
                  "a cubin requires an architecture such as sm_90, not the virtual architecture "
                  "compute_90"},
         }) {
        const auto compiled = CompiledCode::compile(each.architecture, each.source, each.options);
        CHECK(message(compiled) == std::string("CompiledCode::compile: ") + each.reason);
        CHECK(compiled.error().kind() == ErrorKind::invalid_argument);
    }
    CHECK(fake.calls().empty());
}

TEST_CASE("the message of a failed compilation has the source's name and the log", "[fake]") {
    const FakeNvrtc fake;
    JitLog log;
    const auto failed =
        CompiledCode::compile("sm_90", "error, line, line", {.name = "scale.cu"}, &log);
    const std::string lines = "scale.cu: the text of a line of the log\n"
                              "scale.cu: the text of a line of the log";
    CHECK(message(failed) == "CompiledCode::compile: nvrtcCompileProgram: "
                             "NVRTC_ERROR_COMPILATION: scale.cu for sm_90:\n" +
                                 lines);
    CHECK(failed.error().kind() == ErrorKind::status);
    CHECK(failed.error().api() == Api::library);
    CHECK(failed.error().library() == cushim_nvrtc_library());
    CHECK(failed.error().status() == 6);
    CHECK(std::string(failed.error().entry_point()) == "nvrtcCompileProgram");
    CHECK(log.error() == lines + "\n");
    CHECK(std::string(log.info()).empty());

    // One line, and none.
    CHECK(message(CompiledCode::compile("sm_90", "error, line")) ==
          "CompiledCode::compile: program.cu for sm_90: program.cu: the text of a line of the log "
          "(nvrtcCompileProgram: NVRTC_ERROR_COMPILATION)");
    CHECK(message(CompiledCode::compile("sm_90", "error")) ==
          "CompiledCode::compile: program.cu for sm_90 (nvrtcCompileProgram: "
          "NVRTC_ERROR_COMPILATION)");
}

TEST_CASE("the message has whole lines of a long log, the JitLog has all of it", "[fake]") {
    const FakeNvrtc fake;
    std::string many = "error";
    for (int line = 0; line < 1000; ++line) {
        many += " line";
    }
    JitLog log;
    const auto failed = CompiledCode::compile("sm_90", many.c_str(), {.name = "a.cu"}, &log);
    const std::string line = "a.cu: the text of a line of the log\n";
    CHECK(std::string(log.error()).size() == 1000 * line.size());
    const std::string text = message(failed);
    // 4,000 bytes hold 111 lines; the last newline is in neither part.
    CHECK(
        contains(text, line + "(" + std::to_string(889 * line.size()) + " more bytes of the log)"));
    CHECK(text.size() < 4200);
}

TEST_CASE("the log of a successful compilation has the warnings", "[fake]") {
    const FakeNvrtc fake;
    JitLog log;
    (void)ok(CompiledCode::compile("sm_90", "line", {.name = "a.cu"}, &log));
    CHECK(std::string(log.info()) == "a.cu: the text of a line of the log\n");
    CHECK(std::string(log.error()).empty());
    // A log that an earlier compilation filled is cleared by a call that fails early.
    CHECK_FALSE(CompiledCode::compile("sm_90", nullptr, {}, &log));
    CHECK(std::string(log.info()).empty());
}

TEST_CASE("each NVRTC call that fails is the error, and nothing leaks", "[fake]") {
    const FakeNvrtc fake;
    const First first;
    fake.set_architectures({first.number});
    const Headers given;
    const library_test::Sink sink;
    JitLog log;
    const auto messages = library_test::fail_each_call(
        fake, 1, [&] { return CompiledCode::compile(first.device, source, given.options, &log); });
    const auto plain = [](const std::string &call) {
        return "CompiledCode::compile: " + call + ": NVRTC_ERROR_OUT_OF_MEMORY";
    };
    const auto about = [](const std::string &what, const std::string &call) {
        return "CompiledCode::compile: " + what + " (" + call + ": NVRTC_ERROR_OUT_OF_MEMORY)";
    };
    const std::string architecture = "sm_" + std::to_string(first.number);
    CHECK(messages == std::vector<std::string>{
                          plain("nvrtcGetNumSupportedArchs"), plain("nvrtcGetSupportedArchs"),
                          plain("nvrtcCreateProgram"),
                          about("name expression \"f<int>\" of f.cu", "nvrtcAddNameExpression"),
                          about("name expression \"&table\" of f.cu", "nvrtcAddNameExpression"),
                          about("f.cu for " + architecture, "nvrtcCompileProgram"),
                          plain("nvrtcGetProgramLogSize"), plain("nvrtcGetProgramLog"),
                          plain("nvrtcGetCUBINSize"), plain("nvrtcGetCUBIN"),
                          about("name expression \"f<int>\" of f.cu", "nvrtcGetLoweredName"),
                          about("name expression \"&table\" of f.cu", "nvrtcGetLoweredName"),
                          ""}); // the failure of a destructor
    CHECK(sink.failures == std::vector<std::string>{"nvrtcDestroyProgram 1"});

    fake.reset(1, 1);
    CHECK(CompiledCode::compile("sm_90", source).error().kind() == ErrorKind::out_of_memory);
    fake.reset(1, 99);
    CHECK(message(CompiledCode::compile("sm_90", source)) ==
          "CompiledCode::compile: nvrtcCreateProgram: unknown NVRTC status 99");
}

TEST_CASE("each failed call leaves no PTX and no LTO IR", "[fake]") {
    const FakeNvrtc fake;
    const library_test::Sink sink;
    for (const auto &[output, call] :
         {std::pair{CompileOutput::ptx, "nvrtcGetPTX"}, {CompileOutput::lto_ir, "nvrtcGetLTOIR"}}) {
        const auto messages = library_test::fail_each_call(fake, 1, [&, output = output] {
            return CompiledCode::compile("sm_90", source, {.output = output});
        });
        REQUIRE(messages.size() == 5);
        CHECK(contains(messages[2], std::string(call) + "Size: NVRTC_ERROR_OUT_OF_MEMORY"));
        CHECK(contains(messages[3], std::string(call) + ": NVRTC_ERROR_OUT_OF_MEMORY"));
    }
}

TEST_CASE("a compilation that produces nothing is an error", "[fake]") {
    const FakeNvrtc fake;
    fake.produce_nothing(true);
    CHECK(message(CompiledCode::compile("sm_90", source, {.name = "f.cu"})) ==
          "CompiledCode::compile: NVRTC produced no cubin of f.cu; CompileOptions::flags must not "
          "select another output");
    CHECK(message(CompiledCode::compile("sm_90", source, {.output = CompileOutput::ptx})) ==
          "CompiledCode::compile: NVRTC produced no PTX of program.cu; CompileOptions::flags must "
          "not select another output");
}

TEST_CASE("a result that NVRTC cannot have is an error", "[fake]") {
    const FakeNvrtc fake;
    const char *const names[] = {"f<int>"};
    fake.lower_names(false);
    CHECK(message(CompiledCode::compile("sm_90", source, {.name_expressions = names})) ==
          "CompiledCode::compile: nvrtcGetLoweredName: NVRTC returned a null name");
    const Device device = ok(Device::get(0));
    for (const int count : {-2, 2'000'000'000}) {
        fake.count_architectures(count);
        CHECK(message(CompiledCode::compile(device, source)) ==
              "CompiledCode::compile: nvrtcGetNumSupportedArchs: NVRTC returned an impossible "
              "number of architectures");
    }
}

#if API_TEST_ALLOCATIONS_FAIL
TEST_CASE("a compilation without host memory fails with out_of_memory", "[fake]") {
    const FakeNvrtc fake;
    const Headers given;
    for (long nth = 1;; ++nth) {
        bool has_failed = false;
        {
            const support::FailingAllocation failing(nth, support::FailingAllocation::Threads::all);
            const auto compiled = CompiledCode::compile("sm_90", source, given.options);
            has_failed = failing.has_failed();
            if (has_failed && !compiled) {
                CHECK(compiled.error().kind() == ErrorKind::out_of_memory);
            }
        }
        CHECK(fake.live_objects() == 0);
        if (!has_failed) {
            CHECK(nth > 5);
            break;
        }
    }
}
#endif

TEST_CASE("moving compiled code leaves the source empty", "[fake]") {
    const FakeNvrtc fake;
    const CompiledCode none;
    CHECK(none.size() == 0);
    CHECK(std::string(none.data()).empty());
    CHECK_FALSE(none.lowered_name("f"));

    CompiledCode first = ok(CompiledCode::compile("sm_90", source));
    CompiledCode second = std::move(first);
    CHECK(first.size() == 0); // NOLINT
    CHECK(text_of(second) == "cubin -arch=sm_90");
    first = ok(CompiledCode::compile("compute_80", source));
    first = std::move(second);
    CHECK(text_of(first) == "cubin -arch=sm_90");
    CHECK(first.output() == CompileOutput::cubin);
    const CodeImage image = first;
    CHECK(image.data() == first.data());
    CHECK(image.size() == first.size());
}

TEST_CASE("an NVRTC that is too old for the output is reported with both versions", "[old]") {
    const Fake fake("CUSHIM_NVRTC");
    const auto compiled = CompiledCode::compile("sm_90", source, {.output = CompileOutput::lto_ir});
    const std::string version = to_text(ok(CompiledCode::compiler_version())).c_str();
    CHECK(message(compiled) == "CompiledCode::compile: NVRTC (" + version +
                                   ") lacks the entry point nvrtcGetLTOIR; version 12.0 or newer "
                                   "is required");
    CHECK(compiled.error().kind() == ErrorKind::symbol_not_found);
    CHECK(compiled.error().library() == cushim_nvrtc_library());
    CHECK(compiled.error().required() == Version::of(12, 0));
    CHECK(compiled.error().installed() == ok(CompiledCode::compiler_version()));
    CHECK(fake.calls().empty());
}

TEST_CASE("without a list of architectures, that of the device is used", "[old]") {
    const Fake fake("CUSHIM_NVRTC");
    const First first;
    CHECK(text_of(ok(CompiledCode::compile(first.device, source))) ==
          "cubin -arch=sm_" + std::to_string(first.number));
}

TEST_CASE("without NVRTC, a compilation fails with library_not_found", "[absent]") {
    JitLog log;
    const auto compiled = CompiledCode::compile("sm_90", source, {}, &log);
    CHECK(contains(message(compiled), " (CompiledCode::compile). Hint: "));
    CHECK(contains(message(compiled), "NVRTC"));
    CHECK(compiled.error().kind() == ErrorKind::library_not_found);
    CHECK(compiled.error().api() == Api::loader);
    CHECK(compiled.error().library() == cushim_nvrtc_library());
    CHECK(CompiledCode::compiler_version().error().kind() == ErrorKind::library_not_found);
    INFO(message(compiled));
}

namespace {

void need_nvrtc() {
    const auto version = CompiledCode::compiler_version();
    if (!version) {
        SKIP(version.error().message());
    }
}

constexpr const char *scale = R"(
#include "factor.h"
template <class T> __global__ void scale(T *values) {
    int unused;
    values[threadIdx.x] *= FACTOR;
}
__constant__ int table[4];
extern "C" __global__ void one(int *value) { *value = table[0]; }
)";

} // namespace

TEST_CASE("NVRTC compiles to PTX, machine code and LTO IR", "[real_nvrtc]") {
    need_nvrtc();
    const cushim::SourceHeader headers[] = {{"factor.h", "#define FACTOR 2"}};
    const char *const names[] = {"scale<float>", "&table", "one"};
    const CompileOptions options{.name = "scale.cu", .headers = headers, .name_expressions = names};
    JitLog log;
    const CompiledCode ptx = ok(CompiledCode::compile("compute_90", scale, options, &log));
    CHECK(contains(text_of(ptx), ".target sm_90"));
    CHECK(contains(text_of(ptx), ok(ptx.lowered_name("scale<float>"))));
    CHECK(std::string(ok(ptx.lowered_name("scale<float>"))) == "_Z5scaleIfEvPT_");
    CHECK(std::string(ok(ptx.lowered_name("&table"))) == "table");
    CHECK(std::string(ok(ptx.lowered_name("one"))) == "one");
    CHECK(contains(log.info(), "scale.cu(4): warning"));

    const CompiledCode cubin = ok(CompiledCode::compile("sm_90", scale, options));
    CHECK(text_of(cubin).starts_with("\177ELF"));
    CHECK(cubin.output() == CompileOutput::cubin);

    CompileOptions for_lto = options;
    for_lto.output = CompileOutput::lto_ir;
    CHECK(ok(CompiledCode::compile("sm_90", scale, for_lto)).size() != 0);
}

TEST_CASE("NVRTC's log is in the message of a failed compilation", "[real_nvrtc]") {
    need_nvrtc();
    JitLog log;
    const auto failed =
        CompiledCode::compile("sm_90", "__global__ void f() { x = 1; }", {.name = "f.cu"}, &log);
    CHECK(contains(message(failed), "CompiledCode::compile: nvrtcCompileProgram: "
                                    "NVRTC_ERROR_COMPILATION: f.cu for sm_90:\nf.cu(1): error: "
                                    "identifier \"x\" is undefined"));
    CHECK(contains(log.error(), "1 error detected"));

    const char *const flags[] = {"--nonsense"};
    CHECK(contains(message(CompiledCode::compile("sm_90", source, {.flags = flags})),
                   "unrecognized option --nonsense"));
    CHECK(contains(message(CompiledCode::compile("sm_12", source)), "gpu-architecture"));
    const char *const names[] = {"nothing<int>"};
    CHECK(contains(message(CompiledCode::compile("sm_90", source, {.name_expressions = names})),
                   "nothing"));
}

TEST_CASE("NVRTC compiles on several threads", "[real_nvrtc]") {
    need_nvrtc();
    std::atomic<int> compiled = 0;
    support::in_threads(4, [&](unsigned int index) {
        const std::string text = "__global__ void f" + std::to_string(index) + "() {}";
        const auto code = CompiledCode::compile("compute_90", text.c_str());
        if (code && contains(code->data(), "f" + std::to_string(index))) {
            ++compiled;
        }
    });
    CHECK(compiled == 4);
}
