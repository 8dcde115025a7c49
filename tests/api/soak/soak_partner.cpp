#include "soak.hpp"

#include "../harness/ipc_resources.hpp"

#include <cstdio>
#include <memory>
#include <string>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace gpu_test {

using namespace cushim;
using api_test::IpcResources;
using api_test::OpenedIpcResources;
using api_test::ResourceMessage;
using api_test::Worker;
using api_test::Workplace;

namespace {

// Sent by the partner before each message; if the partner fails, sent once without a request.
struct Answer {
    enum class Kind : char { here_it_is, lacks_something, failed };
    Kind kind = Kind::failed;
    char why_not[160] = "the other process has exited";
};

bool send(int socket, const Answer &answer) {
    return ::send(socket, &answer, sizeof answer, MSG_NOSIGNAL) == sizeof answer;
}

int process = -1;
int own_end = -1;
std::unique_ptr<Worker> worker; // one for all rounds
Answer last;                    // a failure stays the last one

Result<void> hand_out(int socket) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Worker maker, Worker::on(device));
    CUSHIM_TRY(IpcResources resources, IpcResources::make(maker));
    for (char asked = 0; read(socket, &asked, 1) == 1;) {
        CUSHIM_TRY_VOID(resources.write(maker, 7));
        CUSHIM_TRY(const ResourceMessage message, resources.to_message(maker));
        if (!send(socket, {.kind = Answer::Kind::here_it_is, .why_not = ""})) {
            return Error::invalid_argument("the socket is closed");
        }
        CUSHIM_TRY_VOID(message.send(socket));
    }
    return {};
}

Result<ResourceMessage> ask() {
    // A partner that has exited has already sent its last message.
    (void)::send(own_end, "?", 1, MSG_NOSIGNAL);
    Answer answer;
    if (recv(own_end, &answer, sizeof answer, MSG_WAITALL) == sizeof answer) {
        last = answer;
    } else if (last.kind == Answer::Kind::here_it_is) {
        last = {};
    }
    switch (last.kind) {
    case Answer::Kind::here_it_is:
        return ResourceMessage::receive(own_end);
    case Answer::Kind::lacks_something:
        return Error::unsupported_platform(last.why_not);
    default:
        return Error::invalid_argument(last.why_not);
    }
}

Result<void> use_what_it_makes(const Workplace &place) {
    if (worker == nullptr) {
        CUSHIM_TRY(Worker made, Worker::on(place.device));
        worker = std::make_unique<Worker>(std::move(made));
    }
    CUSHIM_TRY(const ResourceMessage message, ask());
    CUSHIM_TRY(OpenedIpcResources opened, OpenedIpcResources::open(*worker, message));
    CUSHIM_TRY_VOID(opened.use(*worker, 8));
    return opened.close(*worker);
}

} // namespace

int be_partner(int socket) {
    const Result<void> done = hand_out(socket);
    if (done) {
        return 0;
    }
    Answer answer;
    std::snprintf(answer.why_not, sizeof answer.why_not, "the other process: %s",
                  done.error().message());
    std::fprintf(stderr, "%s\n", answer.why_not);
    if (api_test::is_lack(done.error())) {
        answer.kind = Answer::Kind::lacks_something;
    }
    return send(socket, answer) && answer.kind != Answer::Kind::failed ? 0 : 1;
}

bool start_partner() {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        return false;
    }
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    const std::string number = std::to_string(ends[1]);
    const char *const arguments[] = {"soak", "--partner", number.c_str(), nullptr};
    const bool started = posix_spawn(&process, "/proc/self/exe", nullptr, nullptr,
                                     const_cast<char *const *>(arguments), environ) == 0;
    close(ends[1]);
    own_end = ends[0];
    return started;
}

void await_partner() {
    (void)ask(); // a failure is kept for the next request
}

bool end_partner() {
    worker.reset();
    close(own_end);
    int status = -1;
    return waitpid(process, &status, 0) == process && status == 0;
}

api_test::Use partner_use() {
    return {"what another process makes", use_what_it_makes};
}

} // namespace gpu_test
