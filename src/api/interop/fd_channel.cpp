#include <cushim/fd_channel.hpp>

#include <cushim/driver_table.hpp>

#include <cstdint>
#include <cstring>

#include "base/platform/platform.hpp"
#include "base/ranges.hpp"

namespace cushim {

using namespace detail;

namespace {

// The header before the payload.
struct Header {
    char word[8];
    std::uint64_t size; // bytes of the payload
};

constexpr Header header_for(std::size_t size) noexcept {
    return {{'c', 'u', 's', 'h', 'i', 'm', 'f', 'd'}, size};
}

// The parts of header and payload after their first `done` bytes.
SocketBytes rest(Header &header, std::span<std::byte> payload, std::size_t done) noexcept {
    auto *const bytes = reinterpret_cast<std::byte *>(&header);
    if (done < sizeof header) {
        return {{bytes + done, sizeof header - done}, payload};
    }
    return {payload.subspan(done - sizeof header), {}};
}

Result<void> check_header(const Header &header, std::size_t expected) noexcept {
    const Header wanted = header_for(expected);
    if (std::memcmp(header.word, wanted.word, sizeof header.word) != 0) {
        return Error::invalid_argument(
            "the received message does not start with \"cushimfd\"; send "
            "it with send_fd()");
    }
    if (header.size != wanted.size) {
        return invalid_argument("the sender's payload has size %llu, expected %zu byte%s; "
                                "send and receive payloads of the same size",
                                static_cast<unsigned long long>(header.size), expected,
                                plural(expected));
    }
    return {};
}

Error ends_early(std::size_t done, std::size_t payload) noexcept {
    return invalid_argument(
        "the message ended after %zu of %zu bytes (header %zu, payload %zu); check whether the "
        "sender was interrupted",
        done, sizeof(Header) + payload, sizeof(Header), payload);
}

Error is_closed(bool is_stream) noexcept {
    return Error::status(Api::loader, CUDA_ERROR_OPERATING_SYSTEM, "recvmsg",
                         is_stream
                             ? "the other process closed the socket before it sent a message"
                             : "the other process closed the socket or sent a message of 0 bytes");
}

// Receives a whole message and the descriptors that arrive with it.
Result<void> receive_message(int socket, std::span<std::byte> payload,
                             ArrivedDescriptors &arrived) noexcept {
    CUSHIM_TRY(const bool is_stream, is_stream_socket(socket));
    CUSHIM_TRY(const SocketDeadline deadline, receiving_deadline(socket));
    Header header{};
    const std::size_t total = sizeof header + payload.size();
    for (std::size_t done = 0; done < total;) {
        CUSHIM_TRY(const Received now,
                   receive_some(socket, rest(header, payload, done), arrived, deadline));
        if (now.size == 0) {
            return done == 0 ? is_closed(is_stream) : ends_early(done, payload.size());
        }
        done += now.size;
        if (done >= sizeof header) {
            CUSHIM_TRY_VOID(check_header(header, payload.size()));
        }
        if (!is_stream && done < total) {
            return ends_early(done, payload.size());
        }
        if (now.cut) {
            return invalid_argument(
                "the message is longer than its header states, %zu bytes (header %zu, payload "
                "%zu); send each payload with its own send_fd()",
                total, sizeof header, payload.size());
        }
        if (done < total) {
            CUSHIM_TRY_VOID(deadline.check());
        }
    }
    return {};
}

} // namespace

Result<void> send_fd(int socket, int fd, std::span<const std::byte> payload) noexcept {
    return named("send_fd", [&]() -> Result<void> {
        CUSHIM_TRY_VOID(is_stream_socket(socket));
        CUSHIM_TRY_VOID(check_descriptor(fd));
        CUSHIM_TRY(const SocketDeadline deadline, sending_deadline(socket));
        Header header = header_for(payload.size());
        // The bytes are not modified.
        const std::span<std::byte> bytes(const_cast<std::byte *>(payload.data()), payload.size());
        const std::size_t total = sizeof header + payload.size();
        for (std::size_t done = 0; done < total;) {
            const int with_first = done == 0 ? fd : -1;
            CUSHIM_TRY(const std::size_t now,
                       send_some(socket, rest(header, bytes, done), with_first, deadline));
            done += now;
            if (done < total) {
                CUSHIM_TRY_VOID(deadline.check());
            }
        }
        return {};
    });
}

Result<UniqueFd> receive_fd(int socket, std::span<std::byte> payload) noexcept {
    return named("receive_fd", [&]() -> Result<UniqueFd> {
        ArrivedDescriptors arrived;
        CUSHIM_TRY_VOID(receive_message(socket, payload, arrived));
        if (arrived.count != 1) {
            return invalid_argument(
                "the number of file descriptors in the message is %u, expected 1; send the message "
                "with send_fd()",
                arrived.count);
        }
        return static_cast<UniqueFd &&>(arrived.first);
    });
}

} // namespace cushim
