// Prints at the end of a run what was swept.
#include "scenario.hpp"

#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>

#include <cstdio>

namespace {

class PrintSwept final : public Catch::EventListenerBase {
  public:
    using EventListenerBase::EventListenerBase;

    void testRunEnded(const Catch::TestRunStats &) override {
        if (api_test::swept().scenarios != 0) {
            std::printf("fault sweep: %lu scenarios, %lu calls failed in turn\n",
                        api_test::swept().scenarios, api_test::swept().calls);
        }
    }
};
CATCH_REGISTER_LISTENER(PrintSwept)

} // namespace
