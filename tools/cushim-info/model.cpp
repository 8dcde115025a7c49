#include "model.hpp"

#include <algorithm>

namespace cushim_info {

std::string version_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

const char *outcome_word(cushim_outcome outcome) {
    switch (outcome) {
    case CUSHIM_OUTCOME_LOADED:
        return "loaded";
    case CUSHIM_OUTCOME_NOT_FOUND:
        return "not_found";
    case CUSHIM_OUTCOME_NOT_A_LIBRARY:
        return "not_a_library";
    case CUSHIM_OUTCOME_TRUNCATED:
        return "truncated";
    case CUSHIM_OUTCOME_WRONG_ARCHITECTURE:
        return "wrong_architecture";
    case CUSHIM_OUTCOME_LINK_STUB:
        return "link_stub";
    case CUSHIM_OUTCOME_NOT_CUDA:
        return "not_cuda";
    case CUSHIM_OUTCOME_WRONG_VERSION:
        return "wrong_version";
    case CUSHIM_OUTCOME_REFUSED:
        return "refused";
    }
    return "unknown";
}

const char *reason_word(cushim_reason reason) {
    switch (reason) {
    case CUSHIM_REASON_NONE:
        return "none";
    case CUSHIM_REASON_DISABLED:
        return "disabled";
    case CUSHIM_REASON_NOT_FOUND:
        return "not_found";
    case CUSHIM_REASON_LINK_STUB:
        return "link_stub";
    case CUSHIM_REASON_UNUSABLE:
        return "unusable";
    case CUSHIM_REASON_CHOSEN_PATH:
        return "chosen_path";
    case CUSHIM_REASON_SWITCHED_OFF:
        return "switched_off";
    }
    return "unknown";
}

std::size_t resolved_count(const Library &library) {
    const auto &all = library.entry_points;
    return static_cast<std::size_t>(
        std::count_if(all.begin(), all.end(), [](const EntryPoint &e) { return e.status == 0; }));
}

bool is_unasked(const Library &library) {
    return library.loaded && !library.used;
}

std::string answer_text(const Answer &answer) {
    std::string text = std::to_string(answer.status);
    if (answer.name.empty() && answer.text.empty()) {
        return text;
    }
    const char *between = answer.name.empty() || answer.text.empty() ? "" : ": ";
    return text + " (" + answer.name + between + answer.text + ")";
}

std::string why_no_usable_device(const Info &info) {
    if (!info.driver.loaded) {
        return info.driver.explanation;
    }
    if (!info.init || info.init->status != 0) {
        return "cuInit returned " + (info.init ? answer_text(*info.init) : "nothing");
    }
    if (info.count && info.count->status != 0) {
        return "cuDeviceGetCount returned " + answer_text(*info.count);
    }
    if (info.devices.empty()) {
        return "the driver reports no device";
    }
    for (const Device &device : info.devices) {
        if (device.problem.empty()) {
            return {};
        }
    }
    const Device &first = info.devices.front();
    return "no usable device: device " + std::to_string(first.ordinal) + ": " + first.problem;
}

} // namespace cushim_info
