// Which GPUs have access to each other's memory, and the bandwidth of copies between them, with
// peer access enabled where it is possible. tools/ci/gpu_report.py reads the line that begins with
// "peers: ".
#include "figure.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cushim/copy.hpp>
#include <cushim/device_buffer.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "../support/ok.hpp"
#include "../support/workplace.hpp"

using namespace cushim;
using support::ok;
using support::Workplace;

namespace {

std::vector<Workplace> all_places() {
    std::vector<Workplace> places;
    for (int ordinal = 0; ordinal < ok(Device::count()); ++ordinal) {
        places.push_back(ok(Workplace::on(ok(Device::get(ordinal)))));
    }
    if (places.size() < 2) {
        SKIP("needs 2 devices");
    }
    return places;
}

// Calls function(one, other) for every pair of two devices, in both orders.
template <class Function>
void each_pair(const std::vector<Workplace> &places, const Function &function) {
    for (const Workplace &one : places) {
        for (const Workplace &other : places) {
            if (one.device != other.device) {
                function(one, other);
            }
        }
    }
}

constexpr std::size_t size = std::size_t(256) << 20; // bytes of a copy

// Bytes per second; the best of a few runs, as the first one may include preparations.
double bandwidth(const Stream &stream, DeviceBuffer<char> &to, const DeviceBuffer<char> &from) {
    constexpr int runs = 4, copies = 8;
    double best = 0;
    for (int run = 0; run < runs; ++run) {
        const auto begin = std::chrono::steady_clock::now();
        for (int index = 0; index < copies; ++index) {
            ok(copy(stream, to.span(), from.span()));
        }
        ok(stream.synchronize());
        const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
        best = std::max(best, static_cast<double>(size) * copies / passed.count());
    }
    return best;
}

} // namespace

TEST_CASE("GPUs report which others they can access", "[gpu]") {
    const std::vector<Workplace> places = all_places();
    std::string peers;
    std::size_t with_access = 0, pairs = 0;
    each_pair(places, [&](const Workplace &one, const Workplace &other) {
        ++pairs;
        if (ok(one.device.can_access(other.device))) {
            ++with_access;
            peers += (peers.empty() ? "" : ", ") + std::to_string(one.device.native()) + " to " +
                     std::to_string(other.device.native());
        }
    });
    const std::string text = with_access == pairs ? "all " + std::to_string(pairs) + " pairs"
                             : with_access == 0   ? "none"
                                                  : peers;
    std::printf("peers: %s\n", text.c_str());
    CHECK(pairs == places.size() * (places.size() - 1));
}

TEST_CASE("copies between GPUs have a bandwidth", "[gpu]") {
    const std::vector<Workplace> places = all_places();
    std::vector<DeviceBuffer<char>> from, to;
    for (const Workplace &place : places) {
        from.push_back(ok(DeviceBuffer<char>::allocate(place.context, size)));
        to.push_back(ok(DeviceBuffer<char>::allocate(place.context, size)));
        ok(fill(place.context, from.back().span(), static_cast<char>(place.device.native() + 1)));
        ok(place.context.synchronize());
    }
    double least = std::numeric_limits<double>::max(), most = 0;
    each_pair(places, [&](const Workplace &source, const Workplace &target) {
        const bool has_access = ok(source.device.can_access(target.device));
        if (has_access) {
            ok(source.context.enable_peer_access(target.context));
        }
        auto &memory = to[static_cast<std::size_t>(target.device.native())];
        const double found = bandwidth(source.stream, memory,
                                       from[static_cast<std::size_t>(source.device.native())]);
        least = std::min(least, found);
        most = std::max(most, found);
        std::printf("from GPU %d to GPU %d: %.1f GB/s%s\n", source.device.native(),
                    target.device.native(), found / 1e9, has_access ? "" : ", without access");
        std::vector<char> last(16);
        ok(copy(target.context, last, ok(memory.span().subspan(size - 16, 16))));
        CHECK(last == std::vector<char>(16, static_cast<char>(source.device.native() + 1)));
        if (has_access) {
            ok(source.context.disable_peer_access(target.context));
        }
    });
    const std::string name =
        "copy of 256 MiB between two of " + std::to_string(places.size()) + " GPUs, ";
    gpu_test::figure(name + "slowest pair", least / 1e9, "GB/s");
    gpu_test::figure(name + "fastest pair", most / 1e9, "GB/s");
    CHECK(least > 0);
}
