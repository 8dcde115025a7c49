#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "options.hpp"
#include "output.hpp"

using Catch::Matchers::ContainsSubstring;
using namespace cushim_info;

namespace {

Info with_driver() {
    Info info;
    info.cushim = "1.2.3";
    info.headers = 13000;
    info.driver.loaded = info.driver.used = true;
    info.driver.path = "/lib/libcuda.so.1";
    info.driver.version = 12040;
    info.driver.candidates = {{"/a", CUSHIM_OUTCOME_WRONG_ARCHITECTURE, "for aarch64"},
                              {"libcuda.so.1", CUSHIM_OUTCOME_LOADED, ""}};
    info.driver.entry_points = {
        {"cuInit", 2000, 0}, {"cuNew", 13000, 36}, {"cuLongName_v2", 0, 302}};
    info.runtime.explanation = "no runtime here";
    info.runtime.entry_points = {{"cudaMalloc", 0, 303}};
    info.init = Answer{};
    info.count = Answer{};
    return info;
}

} // namespace

TEST_CASE("Versions print as major.minor") {
    CHECK(version_text(12060) == "12.6");
    CHECK(version_text(13000) == "13.0");
    CHECK(version_text(3020) == "3.2");
    CHECK(version_text(11040) == "11.4");
}

TEST_CASE("The report names libraries, candidates and counts") {
    const std::string text = report_as_text(with_driver());
    for (const char *const part :
         {"cushim 1.2.3, built with the headers of CUDA 13.0", "/lib/libcuda.so.1", "12.4",
          "/a: wrong architecture (for aarch64)",
          "1 of 3 resolve, 2 missing (1 requires a newer driver", "runtime: absent",
          "no runtime here"}) {
        CHECK_THAT(text, ContainsSubstring(part));
    }
}

TEST_CASE("Declarations without a table entry are listed") {
    Info info = with_driver();
    info.driver.left_out = {"CUresult cuStrange(...)"};
    CHECK_THAT(report_as_text(info), ContainsSubstring("CUresult cuStrange(...)"));
    CHECK_THAT(report_as_json(info, false), ContainsSubstring("\"CUresult cuStrange(...)\""));
}

TEST_CASE("Entry points without a known version are listed once") {
    Info info = with_driver();
    CHECK_THAT(report_as_text(info), !ContainsSubstring("no version"));
    CHECK_THAT(report_as_json(info, false), ContainsSubstring("\"unknown_version\": []"));
    info.driver.unknown_version = {"cuLater"};
    const std::string text = report_as_text(info);
    CHECK_THAT(text, ContainsSubstring("knows, 1 entry point in all:\n"));
    CHECK_THAT(text, ContainsSubstring("cuLater"));
    CHECK(text.find("cuLater") == text.rfind("cuLater"));
    CHECK_THAT(report_as_json(info, false), ContainsSubstring("\"cuLater\""));
}

TEST_CASE("Symbols are printed in columns") {
    CHECK(symbols_as_text(with_driver()) == "driver   cuInit         2.0    resolved\n"
                                            "driver   cuNew          13.0   needs CUDA 13.0\n"
                                            "driver   cuLongName_v2  -      missing\n"
                                            "runtime  cudaMalloc     -      no library\n");
}

TEST_CASE("The lines of a hint are wrapped") {
    Info info = with_driver();
    std::string hint;
    for (int i = 0; i < 60; ++i) {
        hint += "word ";
    }
    info.hints = {hint};
    const std::string text = report_as_text(info);
    std::size_t begin = text.find("hints:");
    REQUIRE(begin != std::string::npos);
    for (std::size_t end = 0; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
        CHECK(end - begin <= 100);
    }
}

TEST_CASE("A device is usable only if all queries succeeded") {
    Info info = with_driver();
    CHECK(why_no_usable_device(info) == "the driver reports no device");
    info.devices.push_back(Device{});
    CHECK(why_no_usable_device(info).empty());
    info.devices[0].problem = "broken";
    CHECK(why_no_usable_device(info) == "no usable device: device 0: broken");
    info.devices.push_back(Device{});
    CHECK(why_no_usable_device(info).empty());
    info.init = Answer{100, "NAME", "text"};
    CHECK(why_no_usable_device(info) == "cuInit returned 100 (NAME: text)");
    info.driver.loaded = false;
    info.driver.explanation = "because";
    CHECK(why_no_usable_device(info) == "because");
}

TEST_CASE("The command line is parsed") {
    CHECK(parse_options({}).error.empty());
    const Options all =
        parse_options({"--symbols", "--check", "--json", "--help", "--version", "--link-dir"});
    CHECK((all.symbols && all.check && all.json && all.help && all.version && all.link_dir));
    CHECK(parse_options({"--jsonx"}).error == "unknown option '--jsonx'");
    CHECK(parse_options({"--json", "x"}).error == "unexpected argument 'x'");
    CHECK(parse_options({""}).error == "unexpected argument ''");
}
