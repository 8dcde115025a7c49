// Plausible calls with one argument replaced: a pointer or a handle by null, an enumeration by
// other values, and a number by 0, by the highest one (`max`) and by the next one (`+1`). Calls
// that take a location are made with others (`place TYPE:ID`).
#include "asking.hpp"

#include <iterator>
#include <sstream>
#include <string_view>

namespace record::plausible {

namespace {

struct Variation {
    unsigned int call;
    unsigned int parameter;
    std::string name;
    enum Change { null, value, max, next, place } change;
    int number = 0; // a value, or the type of a place
    int id = 0;
};

constexpr int enumerators[] = {0, 2, 3, 77};
constexpr CUmemLocation places[] = {
    {CU_MEM_LOCATION_TYPE_INVALID, 0},       {CU_MEM_LOCATION_TYPE_DEVICE, -1},
    {CU_MEM_LOCATION_TYPE_DEVICE, 99},       {CU_MEM_LOCATION_TYPE_HOST, 0},
    {CU_MEM_LOCATION_TYPE_HOST, 99},         {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0},
    {CU_MEM_LOCATION_TYPE_HOST_NUMA, 99},    {CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, 0},
    {static_cast<CUmemLocationType>(77), 0},
};

// A call with another value would wait permanently.
bool waits_for_numbers(const Call &call) {
    return std::string_view(call.name()).find("WaitValue") != std::string_view::npos;
}

// The highest number of elements crashes the process, since the array is read.
bool is_number_of_elements(std::string_view parameter) {
    return parameter.substr(0, 3) == "num" || parameter.substr(0, 2) == "nb";
}

void add_changes(std::vector<Variation> &all, const Call &call, unsigned int index) {
    std::istringstream names(call.names);
    for (unsigned int i = 0; i < call.parameters.size(); ++i) {
        std::string name;
        names >> name;
        const auto add = [&](const std::string &to, Variation::Change change, int number = 0) {
            all.push_back({index, i, name + " " + to, change, number});
        };
        switch (call.parameters[i].kind) {
        case Kind::stream:
        case Kind::handle:
        case Kind::pointer:
            add("null", Variation::null);
            break;
        case Kind::enumeration:
            for (const int value : enumerators) {
                add(std::to_string(value), Variation::value, value);
            }
            break;
        case Kind::number:
            if (!waits_for_numbers(call)) {
                add("0", Variation::value);
                if (!is_number_of_elements(name)) {
                    add("max", Variation::max);
                }
                add("+1", Variation::next);
            }
            break;
        case Kind::structure:
            break;
        }
    }
    for (const CUmemLocation &place : places) {
        if (call.takes_location) {
            all.push_back({index, 0,
                           "place " + std::to_string(place.type) + ":" + std::to_string(place.id),
                           Variation::place, place.type, place.id});
        }
    }
}

void change(Argument &argument, const Parameter &parameter, const Variation &variation) {
    switch (variation.change) {
    case Variation::null:
        argument = Argument();
        break;
    case Variation::value:
        argument = Argument(static_cast<long long>(variation.number));
        break;
    case Variation::max:
        std::memset(argument.bytes, 0xff, parameter.bytes);
        break;
    case Variation::next:
        argument = Argument(argument.as<long long>() + 1);
        break;
    case Variation::place:
        break;
    }
}

bool ask_one(const Call &call, const Variation &variation, Answer &answer) {
    static Supply supply;
    if (!prepare(call)) {
        return false;
    }
    const bool at_place = variation.change == Variation::place;
    const auto values = at_place ? new_values(0, 0) : supply.values(call);
    if (at_place) {
        values->set_place({static_cast<CUmemLocationType>(variation.number), variation.id});
    }
    Arguments arguments = call.make(*values);
    answer.made = values->complete();
    if (answer.made) {
        if (!at_place) {
            change(arguments[variation.parameter], call.parameters[variation.parameter], variation);
        }
        make_call(call, arguments, answer);
        supply.use(call, answer);
    }
    return finish(call, answer);
}

bool is_about_graphs(const Call &call) {
    return std::string_view(call.name()).find("Graph") != std::string_view::npos;
}

// Graphs have sections of their own, so that no section takes too long.
void call_all(bool runtime, bool graphs) {
    std::vector<Call> calls = lasting_calls_of(runtime);
    std::erase_if(calls, [&](const Call &call) { return is_about_graphs(call) != graphs; });
    std::vector<Variation> variations;
    for (unsigned int i = 0; i < calls.size(); ++i) {
        add_changes(variations, calls[i], i);
    }
    const auto count = static_cast<unsigned int>(variations.size());
    Answer *answers = shared<Answer>(count);
    std::string line;
    ask_in_children(
        count, 32,
        [&](unsigned int i) {
            return ask_one(calls[variations[i].call], variations[i], answers[i]);
        },
        [&](unsigned int i, int ended) {
            line +=
                (line.empty() ? "" : ", ") + variations[i].name + " " + text_of(answers[i], ended);
            if (i + 1 == count || variations[i + 1].call != variations[i].call) {
                note(calls[variations[i].call].name(), line.c_str());
                line.clear();
            }
        });
}

} // namespace

SECTION("wrong_arguments_driver") {
    call_all(false, false);
}

SECTION("wrong_arguments_driver_graphs") {
    call_all(false, true);
}

SECTION("wrong_arguments_runtime") {
    call_all(true, false);
}

SECTION("wrong_arguments_runtime_graphs") {
    call_all(true, true);
}

} // namespace record::plausible
