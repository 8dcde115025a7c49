// Links with nvJitLink: a fake one, an older fake, none, and the real one.
#include <cushim/nvjitlink.hpp>
#include <cushim/nvjitlink_library.h>
#include <cushim/nvrtc.hpp>

#include "../../support/contains.hpp"
#include "../../support/failing_allocation.hpp"
#include "fake.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

using cushim::Api;
using cushim::CodeImage;
using cushim::CompiledCode;
using cushim::CompileOutput;
using cushim::Device;
using cushim::ErrorKind;
using cushim::JitLog;
using cushim::LinkedCode;
using cushim::LinkInput;
using cushim::LinkInputType;
using cushim::LinkOptions;
using cushim::LinkOutput;
using library_test::Fake;
using library_test::message;
using library_test::ok;
using support::contains;

static_assert(std::is_nothrow_move_constructible_v<LinkedCode> &&
              std::is_nothrow_move_assignable_v<LinkedCode> &&
              !std::is_copy_constructible_v<LinkedCode>);
static_assert(std::is_convertible_v<const LinkedCode &, CodeImage>);

namespace {

std::string text_of(const LinkedCode &code) {
    CHECK(code.data()[code.size()] == '\0');
    return {code.data(), code.size()};
}

// An ELF file for GPUs without sections: relocatable (1) or executable (2), and with an
// architecture, as up to CUDA 12 (version 7 of the ABI) or later (8).
std::string cubin(char kind, int architecture = 0, char abi = 8) {
    std::string bytes(64, '\0');
    bytes.replace(0, 5, "\177ELF\2");
    bytes[8] = abi;
    bytes[16] = kind;
    bytes[18] = '\xbe';
    bytes[48] = abi == 8 ? '\4' : static_cast<char>(architecture);
    bytes[49] = abi == 8 ? static_cast<char>(architecture) : '\5';
    return bytes;
}

CodeImage image(const std::string &bytes) {
    return {bytes.data(), bytes.size()};
}

constexpr const char *ptx = ".version 8.0";

// The flags of the link.
std::string flags(const std::string &calls) {
    const std::string name = "nvJitLinkCreate ";
    REQUIRE(calls.starts_with(name));
    return calls.substr(name.size(), calls.find('\n') - name.size());
}

} // namespace

TEST_CASE("a link passes inputs with their types and names to nvJitLink", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const std::string relocatable = cubin(1);
    const std::string fatbin("\x50\xed\x55\xba\1\0\20\0\4\0\0\0\0\0\0\0code", 20);
    const char *const more[] = {"-O3", "-verbose"};
    const LinkInput inputs[] = {
        {ptx},
        {ptx, "p", LinkInputType::ptx},
        {image(relocatable), "c", LinkInputType::cubin},
        {CodeImage::unsized(relocatable.data()), "u"},
        {CodeImage::unsized(fatbin.data()), "f", LinkInputType::fatbin},
        {image("object"), "o", LinkInputType::object},
        LinkInput::file("libx.a", LinkInputType::archive),
        LinkInput::file("y.o"),
    };
    JitLog log;
    const LinkedCode code = ok(LinkedCode::link("sm_90", inputs, {.flags = more}, &log));
    CHECK(fake.calls() == "nvJitLinkCreate -arch=sm_90 -O3 -verbose\n"
                          "nvJitLinkAddData 10 12 input\n"
                          "nvJitLinkAddData 2 12 p\n"
                          "nvJitLinkAddData 1 64 c\n"
                          "nvJitLinkAddData 10 64 u\n"
                          "nvJitLinkAddData 4 20 f\n"
                          "nvJitLinkAddData 5 6 o\n"
                          "nvJitLinkAddFile 6 libx.a\n"
                          "nvJitLinkAddFile 10 y.o\n"
                          "nvJitLinkComplete\n"
                          "nvJitLinkGetInfoLogSize\n"
                          "nvJitLinkGetInfoLog\n"
                          "nvJitLinkGetErrorLogSize\n"
                          "nvJitLinkGetLinkedCubinSize\n"
                          "nvJitLinkGetLinkedCubin\n"
                          "nvJitLinkDestroy\n");
    CHECK(text_of(code) == "cubin -arch=sm_90 -O3 -verbose");
    CHECK(code.output() == LinkOutput::cubin);
    CHECK(std::string(log.info()) == "24 registers\n");
    CHECK(std::string(log.error()).empty());
    CHECK(inputs[6].is_file());
    CHECK(std::string(inputs[6].name()) == "libx.a");
}

TEST_CASE("LTO IR or PTX as output turns link-time optimization on", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const std::string ir("\xed\x43\x4e\x7f ir");
    struct Case {
        LinkInput input;
        LinkOptions options;
        const char *flags;
    };
    for (const Case &each : {
             Case{{ptx}, {}, "-arch=sm_90"},
             Case{{image(ir)}, {}, "-arch=sm_90 -lto"},
             Case{{ptx, "p", LinkInputType::lto_ir}, {}, "-arch=sm_90 -lto"},
             Case{LinkInput::file("x", LinkInputType::lto_ir), {}, "-arch=sm_90 -lto"},
             Case{LinkInput::file("x.o"), {.link_time_optimization = true}, "-arch=sm_90 -lto"},
             Case{{image(ir)}, {.output = LinkOutput::ptx}, "-arch=sm_90 -lto -ptx"},
         }) {
        fake.reset();
        const LinkedCode code = ok(LinkedCode::link("sm_90", {&each.input, 1}, each.options));
        CHECK(flags(fake.calls()) == each.flags);
        CHECK(code.output() == each.options.output);
        CHECK(text_of(code) ==
              (code.output() == LinkOutput::ptx ? "PTX " : "cubin ") + std::string(each.flags));
    }
}

TEST_CASE("a link for a device uses its architecture", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const Device device = ok(Device::get(0));
    const cushim::ComputeCapability capability = ok(device.compute_capability());
    const LinkInput inputs[] = {{ptx}};
    (void)ok(LinkedCode::link(device, inputs));
    CHECK(flags(fake.calls()) == "-arch=sm_" + std::to_string(capability.major_version) +
                                     std::to_string(capability.minor_version));
    const auto wrong = LinkedCode::link(Device::from_native(99), inputs);
    CHECK(contains(message(wrong), "LinkedCode::link: "));
}

TEST_CASE("an input that nvJitLink would leave out or misread is invalid", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const std::string executable = cubin(2);
    const char *const one_null[] = {nullptr};
    const auto rejected = [](std::vector<LinkInput> inputs, const char *architecture = "sm_90",
                             const LinkOptions &options = {}) {
        const auto linked = LinkedCode::link(architecture, inputs, options);
        CHECK(linked.error().kind() == ErrorKind::invalid_argument);
        return message(linked);
    };
    CHECK(rejected({}) == "LinkedCode::link: the list of inputs is empty");
    CHECK(rejected({{ptx}}, "sm_1") == "LinkedCode::link: the architecture \"sm_1\" does not have "
                                       "the form sm_90, sm_90a or compute_90");
    CHECK(rejected({{ptx}}, "sm_90", {.flags = one_null}) ==
          "LinkedCode::link: LinkOptions::flags[0] is null");
    CHECK(rejected({{ptx}}, "sm_90", {.output = static_cast<LinkOutput>(77)}) ==
          "LinkedCode::link: LinkOptions::output is LinkOutput(77), which is not an enumerator");
    CHECK(rejected({{ptx}, {ptx, nullptr}}) == "LinkedCode::link: the name of input 1 is null");
    CHECK(rejected({LinkInput::file(nullptr)}) == "LinkedCode::link: the path of input 0 is null");
    CHECK(rejected({{CodeImage(nullptr, 4), "n"}}) ==
          "LinkedCode::link: input 0, \"n\": the image is null");
    CHECK(rejected({{CodeImage("", 0), "z"}}) ==
          "LinkedCode::link: input 0, \"z\": the image has size 0");
    CHECK(rejected({{image(executable.substr(0, 40)), "t"}}) ==
          "LinkedCode::link: input 0, \"t\": the cubin is truncated: it has 40 bytes, but an ELF "
          "header has 64");
    CHECK(rejected({{ptx}, {image(executable), "e.cubin"}}) ==
          "LinkedCode::link: input 1, \"e.cubin\", is a cubin that is not relocatable; compile it "
          "with -rdc=true");
    CHECK(fake.calls().empty());
}

TEST_CASE("a cubin of an unknown type is left to nvJitLink", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    std::string bytes = cubin(2);
    bytes[17] = '\xff'; // e_type is 0xff02
    const LinkInput inputs[] = {{image(bytes), "u.cubin"}};
    CHECK(LinkedCode::link("sm_90", inputs).has_value());
}

TEST_CASE("a cubin for an architecture that the target does not run is invalid", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    struct Case {
        int architecture;
        const char *target;
        bool is_valid;
    };
    for (const Case &each : {
             Case{0, "sm_90", true}, // unknown
             Case{90, "sm_90", true},
             Case{90, "sm_90a", true},
             Case{80, "sm_89", true},
             Case{120, "sm_121", true},
             Case{87, "sm_87", true},
             Case{90, "sm_80", false},
             Case{86, "sm_80", false},
             Case{80, "sm_90", false},
             Case{90, "sm_100", false},
             Case{100, "sm_90a", false},
             Case{110, "sm_103f", false},
             Case{80, "sm_87", false},
             Case{87, "sm_89", false},
         }) {
        for (const char abi : {'\7', '\10'}) {
            INFO(each.architecture << " for " << each.target << ", ABI " << int(abi));
            const std::string bytes = cubin(1, each.architecture, abi);
            const LinkInput inputs[] = {{ptx}, {image(bytes), "c.cubin"}};
            fake.reset();
            const auto linked = LinkedCode::link(each.target, inputs);
            CHECK(linked.has_value() == each.is_valid);
            if (!each.is_valid) {
                CHECK(linked.error().kind() == ErrorKind::invalid_argument);
                CHECK(message(linked) ==
                      "LinkedCode::link: input 1, \"c.cubin\", is a cubin for sm_" +
                          std::to_string(each.architecture) + ", which cannot be linked for " +
                          each.target + "; compile it for that architecture");
                CHECK(fake.calls().empty());
            }
        }
    }
}

TEST_CASE("a flag that a link adds itself is invalid", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const LinkInput inputs[] = {{ptx}};
    for (const char *const flag : {"-arch=sm_80", "-lto", "-ptx"}) {
        const char *const flags[] = {"-verbose", flag};
        const auto linked = LinkedCode::link("sm_90", inputs, {.flags = flags});
        CHECK(linked.error().kind() == ErrorKind::invalid_argument);
        CHECK(message(linked) == std::string("LinkedCode::link: LinkOptions::flags[1] \"") + flag +
                                     "\": remove it, link() adds it");
    }
    CHECK(fake.calls().empty());
}

TEST_CASE("each nvJitLink call that fails is the error, and nothing leaks", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const library_test::Sink sink;
    const LinkInput inputs[] = {{ptx, "a.ptx"}, LinkInput::file("b.o")};
    const auto messages =
        library_test::fail_each_call(fake, 6, [&] { return LinkedCode::link("sm_90", inputs); });
    const std::string begin = "LinkedCode::link: ";
    const auto status = [](const std::string &name) {
        return name + std::string(": NVJITLINK_ERROR_INTERNAL");
    };
    const auto exported = [](const std::string &messages_line, const char *name) {
        return contains(messages_line, std::string("__") + name + "_");
    };
    REQUIRE(messages.size() == 7);
    for (std::size_t call = 0; call != 6; ++call) {
        INFO(messages[call]);
        CHECK(messages[call].starts_with(begin));
        CHECK(contains(messages[call], "NVJITLINK_ERROR_INTERNAL"));
    }
    CHECK(contains(messages[0], "linking for sm_90: ERROR: options"));
    CHECK(exported(messages[0], "nvJitLinkCreate"));
    CHECK(contains(messages[1], "linking for sm_90: input \"a.ptx\": ERROR: a.ptx"));
    CHECK(exported(messages[1], "nvJitLinkAddData"));
    CHECK(contains(messages[2], "linking for sm_90: input \"b.o\": ERROR: b.o"));
    CHECK(exported(messages[2], "nvJitLinkAddFile"));
    CHECK(contains(messages[3], "linking for sm_90: ERROR: undefined reference"));
    CHECK(exported(messages[3], "nvJitLinkComplete"));
    CHECK(exported(messages[4], "nvJitLinkGetLinkedCubinSize"));
    CHECK(exported(messages[5], "nvJitLinkGetLinkedCubin"));
    CHECK(contains(messages[5], status("")));
    CHECK(messages[6].empty());
    REQUIRE(sink.failures.size() == 1);
    CHECK(contains(sink.failures[0], "nvJitLinkDestroy"));

    // Of PTX, and statuses that newer libraries add.
    const auto of_ptx = library_test::fail_each_call(
        fake, 77, [&] { return LinkedCode::link("sm_90", inputs, {.output = LinkOutput::ptx}); });
    REQUIRE(of_ptx.size() == 7);
    CHECK(exported(of_ptx[4], "nvJitLinkGetLinkedPtxSize"));
    CHECK(exported(of_ptx[5], "nvJitLinkGetLinkedPtx"));
    CHECK(contains(of_ptx[5], "unknown nvJitLink status 77"));
}

TEST_CASE("an error log that cannot be read does not hide the error", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const LinkInput inputs[] = {{"bad", "b.ptx"}};
    JitLog log;
    const auto failed = LinkedCode::link("sm_90", inputs, {}, &log);
    CHECK(failed.error().kind() == ErrorKind::status);
    CHECK(failed.error().api() == Api::library);
    CHECK(failed.error().library() == cushim_nvjitlink_library());
    CHECK(failed.error().status() == 8);
    CHECK(std::string(log.error()) == "ERROR: b.ptx\n");
    CHECK(std::string(log.info()) == "24 registers\n");
    const std::string with_log = message(failed);
    CHECK(contains(with_log, ": ERROR: b.ptx"));
    for (const int failing : {3, 4}) { // the size of the log, and its text
        fake.reset(failing, 6);
        const std::string without = message(LinkedCode::link("sm_90", inputs));
        CHECK(contains(without, "input \"b.ptx\" ("));
        CHECK(contains(without, "NVJITLINK_ERROR_UNRECOGNIZED_INPUT"));
    }
}

#if API_TEST_ALLOCATIONS_FAIL
TEST_CASE("a link without host memory fails with out_of_memory", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const LinkInput inputs[] = {{ptx}};
    const char *const flags[] = {"-O3", "-verbose", "-lineinfo", "-g"};
    for (long nth = 1;; ++nth) {
        bool has_failed = false;
        {
            const support::FailingAllocation failing(nth, support::FailingAllocation::Threads::all);
            const auto linked = LinkedCode::link("sm_90", inputs, {.flags = flags});
            has_failed = failing.has_failed();
            if (has_failed && !linked) {
                CHECK(linked.error().kind() == ErrorKind::out_of_memory);
            }
        }
        CHECK(fake.live_objects() == 0);
        if (!has_failed) {
            CHECK(nth > 2);
            break;
        }
    }
}
#endif

TEST_CASE("moving linked code leaves the source empty", "[fake]") {
    const Fake fake("CUSHIM_NVJITLINK");
    const LinkInput inputs[] = {{ptx}};
    LinkedCode first = ok(LinkedCode::link("sm_90", inputs));
    LinkedCode second = std::move(first);
    CHECK(first.size() == 0); // NOLINT
    first = std::move(second);
    CHECK(text_of(first) == "cubin -arch=sm_90");
}

TEST_CASE("an nvJitLink that is older than the header is reported with its version", "[old]") {
    const LinkInput inputs[] = {{ptx}};
    const auto linked = LinkedCode::link("sm_90", inputs);
    const std::string version = to_text(ok(LinkedCode::linker_version())).c_str();
    CHECK(message(linked).starts_with("LinkedCode::link: nvJitLink (" + version +
                                      ") lacks the entry point __nvJitLinkCreate_"));
    CHECK(linked.error().kind() == ErrorKind::symbol_not_found);
    CHECK(linked.error().library() == cushim_nvjitlink_library());
    CHECK(linked.error().installed() == ok(LinkedCode::linker_version()));
}

TEST_CASE("without nvJitLink, a link fails with library_not_found", "[absent]") {
    const LinkInput inputs[] = {{ptx}};
    const auto linked = LinkedCode::link("sm_90", inputs);
    CHECK(contains(message(linked), "nvJitLink"));
    CHECK(linked.error().kind() == ErrorKind::library_not_found);
    CHECK(linked.error().library() == cushim_nvjitlink_library());
    CHECK(LinkedCode::linker_version().error().kind() == ErrorKind::library_not_found);
}

namespace {

void need_both() {
    if (const auto version = LinkedCode::linker_version(); !version) {
        SKIP(version.error().message());
    }
    if (const auto version = CompiledCode::compiler_version(); !version) {
        SKIP(version.error().message());
    }
}

constexpr const char *caller = "extern \"C\" __device__ int helper(int);"
                               "extern \"C\" __global__ void k(int *p) { *p = helper(*p); }";
constexpr const char *callee = "extern \"C\" __device__ int helper(int x) { return x + 1; }";
constexpr const char *relocatable[] = {"-rdc=true"};

CompiledCode compiled(const char *source, CompileOutput output) {
    return ok(CompiledCode::compile(output == CompileOutput::ptx ? "compute_90" : "sm_90", source,
                                    {.output = output, .flags = relocatable}));
}

} // namespace

TEST_CASE("nvJitLink links cubins, PTX and LTO IR of NVRTC", "[real_nvjitlink]") {
    need_both();
    for (const CompileOutput output :
         {CompileOutput::cubin, CompileOutput::ptx, CompileOutput::lto_ir}) {
        INFO(to_text(output).c_str());
        const CompiledCode first = compiled(caller, output), second = compiled(callee, output);
        const LinkInput inputs[] = {{first, "caller"}, {second, "callee"}};
        const LinkedCode code = ok(LinkedCode::link("sm_90", inputs));
        CHECK(text_of(code).starts_with("\177ELF"));
        CHECK(contains(text_of(code), ".text.k"));
    }
    const CompiledCode first = compiled(caller, CompileOutput::lto_ir),
                       second = compiled(callee, CompileOutput::lto_ir);
    const LinkInput inputs[] = {{first, "caller"}, {second, "callee"}};
    const LinkedCode code = ok(LinkedCode::link("sm_90", inputs, {.output = LinkOutput::ptx}));
    CHECK(contains(text_of(code), ".entry k"));
    CHECK_FALSE(contains(text_of(code), "call")); // inlined across inputs
}

TEST_CASE("nvJitLink's error log is in the message of a failed link", "[real_nvjitlink]") {
    need_both();
    const CompiledCode first = compiled(caller, CompileOutput::cubin);
    const LinkInput inputs[] = {{first, "caller.cubin"}};
    JitLog log;
    const auto undefined = LinkedCode::link("sm_90", inputs, {}, &log);
    CHECK(contains(message(undefined), "linking for sm_90:\n"));
    CHECK(contains(message(undefined), "Undefined reference to 'helper' in 'caller.cubin'"));
    CHECK(contains(log.error(), "Undefined reference to 'helper'"));

    CHECK(
        contains(message(LinkedCode::link("sm_99", inputs)), "NVJITLINK_ERROR_UNRECOGNIZED_ARCH"));
    const LinkInput text[] = {{".version 8.0\n.target sm_80\n.address_size 64\n bad", "bad.ptx"}};
    const std::string rejected = message(LinkedCode::link("sm_90", text));
    CHECK(contains(rejected, "input \"bad.ptx\""));
    CHECK(contains(rejected, "NVJITLINK_ERROR_PTX_COMPILE"));
    CHECK(contains(rejected, "syntax error"));

    const CompiledCode executable = ok(CompiledCode::compile("sm_90", callee));
    const LinkInput left_out[] = {{executable, "callee.cubin"}};
    CHECK(contains(message(LinkedCode::link("sm_90", left_out)), "is not relocatable"));
}

TEST_CASE("after a cubin for another architecture, other threads can link", "[real_nvjitlink]") {
    need_both();
    const CompiledCode code = compiled(callee, CompileOutput::cubin);
    const LinkInput inputs[] = {{code, "callee.cubin"}};
    for (const char *const target : {"sm_80", "sm_100"}) {
        CHECK(contains(message(LinkedCode::link(target, inputs)), "is a cubin for sm_90"));
    }
    bool is_linked = false;
    std::thread([&] { is_linked = LinkedCode::link("sm_90", inputs).has_value(); }).join();
    CHECK(is_linked);
}
