// A fake library of the test: its calls, and the one that fails. The variable of its environment
// (CUSHIM_NVRTC) names the file.
#pragma once

#include <cushim/result.hpp>
#include <cushim/teardown.hpp>

#include "../../support/ok.hpp"

#include <catch2/catch_test_macros.hpp>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace library_test {

using support::ok;

class Fake {
  public:
    explicit Fake(const char *variable)
        : library_(dlopen(std::getenv(variable), RTLD_NOW | RTLD_LOCAL)) {
        if (library_ == nullptr) {
            FAIL(dlerror());
        }
        reset();
    }
    Fake(const Fake &) = delete;
    Fake &operator=(const Fake &) = delete;
    // No test leaks an object.
    ~Fake() {
        CHECK(live_objects() == 0);
        reset();
        dlclose(library_);
    }

    template <class Function>
    Function *function(const char *name) const {
        void *const found = dlsym(library_, name);
        if (found == nullptr) {
            FAIL(name << " is not in the fake library");
        }
        return reinterpret_cast<Function *>(found);
    }

    // Call number `failing`, counted from 1, fails.
    void reset(int failing = 0, int status = 0) const {
        function<void(int, int)>("fake_reset")(failing, status);
    }
    std::string calls() const { return function<const char *()>("fake_calls")(); }
    int live_objects() const { return function<int()>("fake_live_objects")(); }

  private:
    void *library_;
};

template <class T>
std::string message(const cushim::Result<T> &failed) {
    if (failed) {
        FAIL("the call succeeded");
    }
    return failed.error().message();
}

// Receives the failures of destructors during its lifetime.
class Sink {
  public:
    Sink() : before_(cushim::set_teardown_sink({&Sink::receive, this})) {}
    ~Sink() { cushim::set_teardown_sink(before_); }
    Sink(const Sink &) = delete;
    Sink &operator=(const Sink &) = delete;

    std::vector<std::string> failures;

  private:
    static void receive(const cushim::TeardownFailure &failure, void *user) {
        static_cast<Sink *>(user)->failures.push_back(std::string(failure.entry_point) + " " +
                                                      std::to_string(failure.status));
    }
    cushim::TeardownSinkSetting before_;
};

// Fails each call of `use` in turn, with this status, and returns the messages; "" for a success.
// Nothing leaks.
template <class Use>
std::vector<std::string> fail_each_call(const Fake &fake, int status, const Use &use) {
    std::vector<std::string> messages;
    for (int failing = 1;; ++failing) {
        fake.reset(failing, status);
        const int before = fake.live_objects();
        {
            const auto used = use();
            CHECK(fake.live_objects() - before <= (used ? 1 : 0));
            const std::string calls = fake.calls();
            const auto count = std::count(calls.begin(), calls.end(), '\n');
            if (count < failing) {
                return messages;
            }
            messages.push_back(used ? "" : used.error().message());
        }
        CHECK(fake.live_objects() == before);
    }
}

} // namespace library_test
