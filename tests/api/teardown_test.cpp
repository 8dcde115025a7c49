#include "harness/scenario.hpp"
#include "harness/simulator.hpp"

using namespace cushim;

namespace {

struct Recorded {
    int count = 0;
    TeardownFailure last{};
};

// Records what destructors report while this lives.
class Recorder {
  public:
    Recorder()
        : before_(set_teardown_sink({[](const TeardownFailure &failure, void *user) {
                                         auto *recorded = static_cast<Recorded *>(user);
                                         ++recorded->count;
                                         recorded->last = failure;
                                     },
                                     &recorded_})) {}
    ~Recorder() { set_teardown_sink(before_); }
    const Recorded *operator->() const { return &recorded_; }

  private:
    Recorded recorded_;
    TeardownSinkSetting before_;
};

Context context_with(const char *settings) {
    api_test::restart(settings);
    auto context = Context::primary(Device::from_native(0));
    REQUIRE(context.has_value());
    return std::move(*context);
}

} // namespace

TEST_CASE("a destructor that fails tells the sink", "[teardown]") {
    if (api_test::simulator() == nullptr) {
        SKIP("needs a call that fails");
    }
    const Context context = context_with("fault=cuEventDestroy_v2:1:999:after");
    const Recorder recorder;
    const CUevent native = [&] {
        const auto event = Event::create(context);
        REQUIRE(event.has_value());
        return event->native();
    }();
    CHECK(recorder->count == 1);
    CHECK(std::string(recorder->last.entry_point) == "cuEventDestroy_v2");
    CHECK(recorder->last.status == 999);
    CHECK(recorder->last.handle == reinterpret_cast<unsigned long long>(native));
}

TEST_CASE("close tells its caller, and the sink nothing", "[teardown]") {
    if (api_test::simulator() == nullptr) {
        SKIP("needs a call that fails");
    }
    const Context context = context_with("fault=cuEventDestroy_v2:1:999:after");
    const Recorder recorder;
    auto event = Event::create(context);
    REQUIRE(event.has_value());
    const auto closed = event->close();
    REQUIRE_FALSE(closed.has_value());
    CHECK(closed.error().status() == 999);
    CHECK_FALSE(static_cast<bool>(*event));
    CHECK(recorder->count == 0);
}

TEST_CASE("a driver that is gone is no failure", "[teardown]") {
    if (api_test::simulator() == nullptr) {
        SKIP("needs a call that fails");
    }
    const Context context = context_with("fault=cuEventDestroy_v2:1:4:after");
    const Recorder recorder;
    { const auto event = Event::create(context); }
    CHECK(recorder->count == 0);
}

TEST_CASE("the last of several owners destroys, whichever it is", "[teardown]") {
    const Context context = context_with("");
    auto first = Event::create(context);
    REQUIRE(first.has_value());
    Event second = first->share();
    REQUIRE(first->close().has_value());
    CHECK(second.query().has_value());
    CHECK(second.close().has_value());
}

TEST_CASE("what is released is nobody's to destroy", "[teardown]") {
    const Context context = context_with("");
    auto first = Event::create(context);
    REQUIRE(first.has_value());
    Event second = first->share();
    const CUevent native = first->release();
    CHECK(second.close().has_value());
    CHECK(driver().cuEventQuery(native) == CUDA_SUCCESS);
    CHECK(driver().cuEventDestroy(native) == CUDA_SUCCESS);
}
