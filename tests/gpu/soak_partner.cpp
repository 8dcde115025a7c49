#include "soak_partner.hpp"

#include "../api/harness/goods.hpp"

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
using api_test::Goods;
using api_test::OpenedGoods;
using api_test::Parcel;
using api_test::Worker;
using api_test::Workplace;

namespace {

// What the partner says before it hands out anything.
enum class Answer : char { here_it_is, lacks_something, failed };

int process = -1;
int own_end = -1;
std::unique_ptr<Worker> worker; // one for all rounds

Result<void> hand_out(int socket) {
    CUSHIM_TRY(const Device device, Device::get(0));
    CUSHIM_TRY(const Worker maker, Worker::on(device));
    CUSHIM_TRY(const Goods goods, Goods::make(maker));
    for (char asked = 0; read(socket, &asked, 1) == 1;) {
        CUSHIM_TRY_VOID(goods.write(maker, 7));
        CUSHIM_TRY(const Parcel parcel, goods.pack(maker));
        const Answer answer = Answer::here_it_is;
        if (write(socket, &answer, sizeof answer) != sizeof answer) {
            return Error::invalid_argument("nobody listens");
        }
        CUSHIM_TRY_VOID(parcel.send(socket));
    }
    return {};
}

Result<Parcel> ask() {
    Answer answer = Answer::failed;
    if (write(own_end, "?", 1) != 1 || read(own_end, &answer, sizeof answer) != sizeof answer) {
        return Error::invalid_argument("the other process is gone");
    }
    if (answer == Answer::lacks_something) {
        return Error::unsupported_platform("the other process lacks something: see what it said");
    }
    if (answer != Answer::here_it_is) {
        return Error::invalid_argument("the other process has failed");
    }
    return Parcel::receive(own_end);
}

Result<void> use_what_it_makes(const Workplace &place) {
    if (worker == nullptr) {
        CUSHIM_TRY(Worker made, Worker::on(place.device));
        worker = std::make_unique<Worker>(std::move(made));
    }
    CUSHIM_TRY(const Parcel parcel, ask());
    CUSHIM_TRY(OpenedGoods opened, OpenedGoods::open(*worker, parcel));
    CUSHIM_TRY_VOID(opened.use(*worker, 8));
    return opened.close(*worker);
}

} // namespace

int be_partner(int socket) {
    const Result<void> done = hand_out(socket);
    if (done) {
        return 0;
    }
    std::fprintf(stderr, "the other process: %s\n", done.error().message());
    const Answer answer =
        api_test::is_lack(done.error()) ? Answer::lacks_something : Answer::failed;
    (void)!write(socket, &answer, sizeof answer);
    return answer == Answer::failed ? 1 : 0;
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
