// Two processes share one buffer on the GPU. The first one fills it and passes a handle of 80 bytes
// to the second one, which opens it, reads the data and writes new data.
//
//     share_ipc [--require-gpu]     starts the second process itself: share_ipc --open BYTES
#include <cushim/cushim.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "example.hpp"

namespace {

constexpr std::size_t count = 1000;

std::string to_hex(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned int>(byte));
        text += digits;
    }
    return text;
}

std::vector<std::byte> from_hex(const std::string &text) {
    std::vector<std::byte> bytes;
    for (std::size_t index = 0; index + 1 < text.size(); index += 2) {
        bytes.push_back(static_cast<std::byte>(std::stoul(text.substr(index, 2), nullptr, 16)));
    }
    return bytes;
}

cushim::Result<cushim::Context> primary_context() {
    CUSHIM_TRY(const cushim::Device device, cushim::Device::get(0));
    return cushim::Context::primary(device);
}

// --- the second process

cushim::Result<bool> open_and_answer(const std::string &hex) {
    CUSHIM_TRY(const cushim::Context context, primary_context());
    CUSHIM_TRY(const auto exported, cushim::IpcExport::from_bytes(from_hex(hex)));
    CUSHIM_TRY(const auto memory, cushim::IpcMemory::open(context, exported));
    CUSHIM_TRY(const auto values, memory.as<int>());
    CUSHIM_TRY(const bool seen, example::all_are(context, values, 1));
    CUSHIM_TRY_VOID(cushim::fill(context, values, 2));
    return seen;
}

// --- the first process

cushim::Result<bool> share(const char *program) {
    CUSHIM_TRY(const cushim::Context context, primary_context());
    CUSHIM_TRY(auto buffer, cushim::DeviceBuffer<int>::allocate(context, count));
    CUSHIM_TRY_VOID(cushim::fill(context, buffer.span(), 1));
    CUSHIM_TRY(const auto exported, cushim::IpcExport::of(context, buffer.span()));
    std::string command = "\"";
    command.append(program).append("\" --open ").append(to_hex(exported.bytes()));
    // The buffer must exist until the other process has finished.
    const bool opened = std::system(command.c_str()) == 0;
    CUSHIM_TRY(const bool answered, example::all_are(context, buffer.span(), 2));
    return opened && answered;
}

} // namespace

int main(int argc, char **argv) {
    const example::Options options(argc, argv);
    if (options.option == "--open" && argc == 3) {
        return example::status(open_and_answer(argv[2]),
                               "second process: received the ones, wrote the twos");
    }
    if (const auto device = cushim::Device::get(0); !device) {
        return example::without_gpu(device.error(), options);
    }
    return example::status(share(argv[0]), "first process: received the twos");
}
