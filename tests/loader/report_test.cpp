// The report, as text and from C.
#include <catch2/catch_test_macros.hpp>
#include <cushim/init.hpp>

#include <vector>

#ifndef _WIN32
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "machine.hpp"

using namespace support;

TEST_CASE("the text of the report lists the tried files and a hint", "[report_text]") {
    CHECK(std::string(driver_report().explanation) != ""); // before the first search
    set_variable("CUSHIM_DRIVER", "/nonexistent/driver");
    CHECK_FALSE(cushim::load_runtime());
    const size_t length = cushim_report_text(nullptr, 0);
    std::vector<char> text(length + 1, '#');
    CHECK(cushim_report_text(text.data(), text.size()) == length);
    const std::string whole(text.data());
    CHECK(whole.size() == length);
    for (const char *part : {"driver: ", "runtime: ", "/nonexistent/driver: not found", "hint: "}) {
        INFO(part << " in\n" << whole);
        CHECK(contains(whole, part));
    }
    char shorter[10] = "#########";
    CHECK(cushim_report_text(shorter, sizeof shorter) == length);
    CHECK(std::string(shorter) == whole.substr(0, 9));
    char nothing = '#';
    CHECK(cushim_report_text(&nothing, 1) == length);
    CHECK(nothing == '\0');
}

TEST_CASE("the text of loaded libraries has their version and no hint", "[report_loaded]") {
    set_variable("CUSHIM_DRIVER", good_driver());
    CHECK(cushim::load_runtime());
    std::vector<char> text(cushim_report_text(nullptr, 0) + 1);
    cushim_report_text(text.data(), text.size());
    const std::string whole(text.data());
    CHECK(whole.find("hint: ") == std::string::npos);
    CHECK(whole.find(cushim::to_text(cushim::headers_version()).c_str()) != std::string::npos);
    CHECK(std::string(cushim_version()) == required_variable("CUSHIM_PROJECT_VERSION"));
    CHECK(cushim_headers_version() == CUDA_VERSION);
    CHECK(cushim_absent_status(CUSHIM_LIBRARY_DRIVER) == 0);
}

#ifndef _WIN32
TEST_CASE("the message of init in the child of a fork names the fork", "[init_fork]") {
    static CUresult status = CUDA_SUCCESS;
    const cushim::ScopedOverride<cushim::entry::cuInit> scope([](unsigned int) { return status; });
    REQUIRE(cushim::init());
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        status = CUDA_ERROR_NOT_INITIALIZED; // the driver's status in a child
        const auto failed = cushim::init();
        const bool named = !failed && std::string(failed.error().message()).find("forked from") !=
                                          std::string::npos;
        _exit(named ? 0 : 1);
    }
    int ended = -1;
    REQUIRE(waitpid(child, &ended, 0) == child);
    CHECK(ended == 0);
}
#endif

TEST_CASE("init remembers the success of cuInit", "[init]") {
    static int calls = 0;
    const cushim::ScopedOverride<cushim::entry::cuInit> scope(
        [](unsigned int) { return ++calls == 1 ? CUDA_ERROR_NO_DEVICE : CUDA_SUCCESS; });
    const auto failed = cushim::init();
    REQUIRE_FALSE(failed); // failures are not remembered
    CHECK(failed.error().kind() == cushim::ErrorKind::no_device);
    CHECK(cushim::init());
    CHECK(cushim::init());
    CHECK(calls == 2);
    CHECK(cushim_exiting() == 0);
}
