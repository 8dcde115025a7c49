// Checks for many tests: tables of calls, reported misuses, concurrent threads.
#pragma once

#include "handles.hpp"

#include <initializer_list>
#include <thread>
#include <tuple>

namespace sim_test {

// Expects a misuse: CHECK(reported(driver().cuMemFree(pinned), "of pinned host memory") ==
// invalid).
inline CUresult reported(CUresult status, const std::string &text) {
    expect_misuse(text);
    return status;
}

// The results of `work` for four numbers, each in its own thread.
template <class Work>
auto in_threads(const Work &work) {
    std::vector<decltype(work(std::size_t(0)))> results(4);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t != results.size(); ++t) {
        threads.emplace_back([&, t] { results[t] = work(t); });
    }
    for (auto &thread : threads) {
        thread.join();
    }
    return results;
}

// The parameters of a driver function, function or lambda as a row of a table.
template <class Call>
struct Signature : Signature<decltype(&Call::operator())> {};
template <class Class, class... Parameters>
struct Signature<CUresult (Class::*)(Parameters...) const> {
    using Row = std::tuple<std::remove_cvref_t<Parameters>...>;
};
template <class... Parameters>
struct Signature<CUresult (*)(Parameters...)> {
    using Row = std::tuple<std::remove_cvref_t<Parameters>...>;
};

// A function for tables of calls: each row of arguments must return the same status.
//
//     const Calls allocate(&Driver::cuMemAlloc);
//     allocate[invalid] = {{nullptr, 16}, {&address, 0}};
template <class Call>
class Calls {
  public:
    using Row = typename Signature<Call>::Row;

    // A status, and the source line that expects it.
    struct Expected {
        Expected(CUresult expected, int expecting = __builtin_LINE())
            : status(expected), line(expecting) {}
        CUresult status;
        int line;
    };
    struct Table {
        void operator=(std::initializer_list<Row> rows) const {
            int number = 0;
            for (const Row &row : rows) {
                INFO("row " << ++number << " of the table on line " << expected.line);
                CHECK(calls.call(row) == expected.status);
            }
        }
        const Calls &calls;
        Expected expected;
    };

    explicit Calls(Call call) : call_(call) {}
    Table operator[](Expected expected) const { return {*this, expected}; }

  private:
    CUresult call(const Row &row) const {
        if constexpr (std::is_member_function_pointer_v<Call>) {
            return std::apply(call_, std::tuple_cat(std::tuple(driver()), row));
        } else {
            return std::apply(call_, row);
        }
    }

    Call call_;
};

} // namespace sim_test
