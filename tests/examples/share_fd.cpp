// Two processes share GPU memory through a file descriptor. The first one allocates and fills it,
// and sends the descriptor over a socket; the second one imports it, as it could import Vulkan's,
// reads the data and writes new data.
//
//     share_fd [--require-gpu]
//
// The second process is forked before either one calls CUDA, which would not work in it otherwise.
#include <cushim/cushim.hpp>

#include <csignal>
#include <cstdio>
#include <vector>

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "example.hpp"

namespace {

using cushim::Result;
using cushim::UniqueFd;

// The description of the memory that the second process needs.
struct Description {
    std::size_t size; // bytes
    cushim::DeviceUuid device;
};

// --- the second process

Result<bool> import_and_answer(const UniqueFd &socket) {
    Description description;
    CUSHIM_TRY(UniqueFd fd, cushim::receive_fd(socket.get(),
                                               std::as_writable_bytes(std::span(&description, 1))));
    CUSHIM_TRY(const auto device, cushim::Device::by_uuid(description.device));
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    auto source = cushim::ExternalMemorySource::opaque_fd(std::move(fd));
    CUSHIM_TRY(const auto memory,
               cushim::ExternalMemory::import_from(context, std::move(source), description.size));
    CUSHIM_TRY(const auto buffer, memory.map_buffer(0, description.size));
    CUSHIM_TRY(const auto numbers, buffer.as<int>());
    CUSHIM_TRY(const bool seen, example::all_are(context, numbers, 1));
    CUSHIM_TRY_VOID(cushim::fill(context, numbers, 2));
    return seen;
}

// --- the first process

Result<bool> share(cushim::Device device, const UniqueFd &socket, pid_t second) {
    const cushim::PhysicalMemoryOptions options{.exportable = {.posix_fd = true}};
    CUSHIM_TRY(const auto context, cushim::Context::primary(device));
    CUSHIM_TRY(const auto granularity, cushim::Granularity::of(device, options));
    CUSHIM_TRY(const std::size_t size, granularity.round_up(1000 * sizeof(int)));
    CUSHIM_TRY(const auto memory, cushim::PhysicalMemory::create(device, size, options));
    CUSHIM_TRY(const auto range, cushim::AddressRange::reserve(device, size));
    const cushim::AccessGrant access(device, cushim::AccessFlags::read_write);
    CUSHIM_TRY(const auto mapped, cushim::MappedRange::map(range, 0, memory, access));
    CUSHIM_TRY_VOID(cushim::fill(context, mapped.span<int>(), 1));

    Description description{.size = size, .device = {}};
    CUSHIM_TRY(description.device, device.uuid());
    {
        CUSHIM_TRY(const auto fd, memory.export_fd());
        CUSHIM_TRY_VOID(
            cushim::send_fd(socket.get(), fd.get(), std::as_bytes(std::span(&description, 1))));
    }
    int status = -1;
    waitpid(second, &status, 0);
    CUSHIM_TRY(const bool answered, example::all_are(context, mapped.span<int>(), 2));
    return status == 0 && answered;
}

} // namespace

int main(int argc, char **argv) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        std::perror("share_fd: socketpair");
        return 1;
    }
    UniqueFd here(ends[0]), there(ends[1]);
    const pid_t second = fork();
    if (second < 0) {
        std::perror("share_fd: fork");
        return 1;
    }
    if (second == 0) {
        here.reset();
        return example::status(import_and_answer(there),
                               "second process: received the ones, wrote the twos");
    }
    there.reset();
    const auto device = cushim::Device::get(0);
    if (!device) {
        kill(second, SIGTERM);
        waitpid(second, nullptr, 0);
        return example::without_gpu(device.error(), example::Options(argc, argv));
    }
    return example::status(share(*device, here, second), "first process: received the twos");
}
