#include "ptx/steps/system_calls.hpp"
#include "ptx/steps/addresses.hpp"
#include "ptx/steps/call.hpp"
#include "ptx/steps/printf.hpp"

#include <cstring>

namespace sim::ptx::inline SIM_PTX_FEATURES {
namespace {

using Parameters = std::vector<Program::Parameter>;

// Where a lane's arguments and results are. Step::more.
struct SystemCall {
    Parameters arguments, results;
};

std::uint64_t argument(Warp &warp, const Step &step, std::size_t number, int lane) {
    const auto &plan = *static_cast<const SystemCall *>(step.more);
    std::uint64_t value = 0;
    std::memcpy(&value, place_of(plan.arguments[number], warp, warp.frame(), lane),
                std::min<std::size_t>(plan.arguments[number].size, sizeof value));
    return value;
}

void set_result(Warp &warp, const Step &step, int lane, std::uint64_t value) {
    const auto &plan = *static_cast<const SystemCall *>(step.more);
    if (!plan.results.empty()) {
        std::memcpy(place_of(plan.results[0], warp, warp.frame(), lane), &value,
                    std::min<std::size_t>(plan.results[0].size, sizeof value));
    }
}

ReadBytes reader(Warp &warp, const Step &step, int lane) {
    return [&warp, &step, lane](std::uint64_t address, void *to, std::size_t size) {
        const std::byte *view = generic_view(warp, step, lane, address, size, false);
        if (view != nullptr) {
            std::memcpy(to, view, size);
        }
        return view != nullptr;
    };
}

std::string text_at(Warp &warp, const Step &step, int lane, std::uint64_t address) {
    const ReadBytes read = reader(warp, step, lane);
    std::string text;
    for (char c = 0; text.size() < 1024 && read(address + text.size(), &c, 1) && c != 0;) {
        text += c;
    }
    return text;
}

// int vprintf(const char *format, const void *arguments): returns the number of arguments.
void print(Warp &warp, const Step &step) {
    const auto &write = warp.block().grid().launch.print;
    for_each_lane(warp.mask(), [&](int lane) {
        const std::uint64_t format = argument(warp, step, 0, lane);
        const auto printed =
            format_text(reader(warp, step, lane), format, argument(warp, step, 1, lane));
        if (!printed) {
            fail(warp, step, lane,
                 {.kind = KernelFault::Kind::illegal_address, .address = format, .size = 1});
        }
        if (write) {
            write(printed->text);
        }
        set_result(warp, step, lane, static_cast<std::uint64_t>(printed->arguments));
    });
}

// void __assertfail(const char *message, const char *file, unsigned int line,
//                   const char *function, size_t character_size)
void fail_assertion(Warp &warp, const Step &step) {
    const int lane = __builtin_ctz(warp.mask());
    const auto text = [&](std::size_t number) {
        return text_at(warp, step, lane, argument(warp, step, number, lane));
    };
    fail(warp, step, lane,
         {.kind = KernelFault::Kind::assertion,
          .text = text(1) + ":" + std::to_string(argument(warp, step, 2, lane)) + ": " + text(3) +
                  ": Assertion `" + text(0) + "' failed."});
}

void allocate(Warp &warp, const Step &step) {
    for_each_lane(warp.mask(), [&](int lane) {
        set_result(warp, step, lane,
                   warp.block().grid().memory.allocate(argument(warp, step, 0, lane)));
    });
}

void free(Warp &warp, const Step &step) {
    for_each_lane(warp.mask(), [&](int lane) {
        warp.block().grid().memory.free(argument(warp, step, 0, lane));
    });
    warp.block().memory().refresh();
}

struct Function {
    std::string_view name;
    std::size_t arguments;
    Run run;
};
constexpr Function functions[] = {
    {"__assertfail", 5, fail_assertion},
    {"free", 1, free},
    {"malloc", 1, allocate},
    {"vprintf", 2, print},
};

} // namespace

bool build_system_call(Decoder &decoder, std::string_view name, const Parameters &arguments,
                       const Parameters &results) {
    for (const Function &function : functions) {
        if (function.name == name && function.arguments == arguments.size()) {
            Step step;
            auto &plan = decoder.plan<SystemCall>(step);
            plan = {arguments, results};
            step.site = decoder.layout().new_site();
            step.all = step.some = function.run;
            decoder.emit(step);
            return true;
        }
    }
    return false;
}

} // namespace sim::ptx::inline SIM_PTX_FEATURES
