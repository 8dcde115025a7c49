// One failing call of each public function, with its whole message, which begins with the function.
#pragma once

#include <cushim/context.hpp>

#include <catch2/catch_test_macros.hpp>

#include <set>
#include <string>

namespace api_test {

class Failures {
  public:
    // Checks cushim's part of the message, and notes the function that it names. The rest is the
    // driver's log: driver_log_test.cpp. `kind` is that of an error without a CUDA status.
    template <class T>
    void expect(const std::string &message, const cushim::Result<T> &result,
                cushim::ErrorKind kind = cushim::ErrorKind::invalid_argument) {
        INFO(message);
        CHECK_FALSE(result.has_value());
        if (!result.has_value()) {
            const std::string whole = result.error().message();
            CHECK(whole.substr(0, whole.find(". The driver's log: ")) == message);
            if (result.error().status() == 0) {
                CHECK(result.error().kind() == kind);
            }
            functions.insert(result.error().function());
        }
    }

    std::set<std::string> functions;
};

// A context in a message: "0x55d3c0a1b2c0", and "0x55d3c0a1b2c0 (device 0)".
std::string number_of(const cushim::Context &context);
std::string text_of(const cushim::Context &context);

// By the folders of src/api.
void expect_context_failures(Failures &failures); // and those of base
void expect_kernel_failures(Failures &failures);
void expect_memory_failures(Failures &failures);
void expect_interop_failures(Failures &failures);
void expect_graph_failures(Failures &failures);

} // namespace api_test
