// The error hook receives each error of a public function once.
#include <cushim/device.hpp>
#include <cushim/device_buffer.hpp>
#include <cushim/error_hook.hpp>

#include "check.hpp"

#include <string>
#include <vector>

using namespace cushim;

namespace {

// What a hook received, while this object exists.
class Received {
  public:
    Received() : before_(set_error_hook({add, this})) {}
    ~Received() { set_error_hook(before_); }
    Received(const Received &) = delete;
    Received &operator=(const Received &) = delete;

    std::vector<std::string> functions;

  private:
    static void add(const Error &error, void *user) noexcept {
        static_cast<Received *>(user)->functions.emplace_back(error.function());
        (void)Device::get(0); // its error is not passed to the hook
    }

    const ErrorHookSetting before_;
};

} // namespace

TEST_CASE("the error hook receives the error of a failed call, and its user pointer") {
    const Received received;
    const auto device = Device::get(0); // the tests run without a driver
    REQUIRE(!device.has_value());
    CHECK(received.functions == std::vector<std::string>{"init"}); // which Device::get() calls
    const Error copy = device.error();
    CHECK(copy == device.error());
    CHECK(received.functions.size() == 1);
}

TEST_CASE("the error hook receives the error of an inner function once") {
    const Received received;
    CHECK(!DeviceBuffer<int>::copy_of(Context(), std::vector<int>(3)).has_value());
    CHECK(received.functions == std::vector<std::string>{"DeviceBuffer::allocate"});
}

TEST_CASE("the error hook receives no errors that programs make, and none when it is unset") {
    {
        const Received received;
        const Result<int> made = Error::invalid_argument("made by the program");
        CHECK(!made.has_value());
        CHECK(received.functions.empty());
    }
    CHECK(set_error_hook({}).hook == nullptr);
    CHECK(!Device::get(0).has_value());
}
