#include "children.hpp"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>
#include <vector>

#include <sys/prctl.h>
#include <sys/wait.h>

namespace record {

namespace {

constexpr unsigned int seconds_for_a_question = 10;
constexpr unsigned int worker_count = 4; // more wait for each other in the driver

using Done = std::atomic<bool>;

// Asks its questions in one child after the other.
struct Worker {
    std::vector<unsigned int> questions;
    std::size_t next = 0;
    pid_t child = 0;
};

// The child is killed when its parent ends.
template <class Body>
pid_t fork_off(Body body) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        body();
        _exit(0);
    }
    return child;
}

void ask_some(const Worker &worker, Done *done, const std::function<bool(unsigned int)> &ask) {
    bool more = true;
    for (std::size_t i = worker.next; more && i < worker.questions.size(); ++i) {
        alarm(seconds_for_a_question);
        more = ask(worker.questions[i]);
        done[worker.questions[i]] = true;
    }
}

// A child has ended.
void advance(Worker &worker, int status, Done *done, std::vector<int> &ended) {
    const std::size_t first = worker.next;
    const auto &questions = worker.questions;
    while (worker.next < questions.size() && done[questions[worker.next]]) {
        ++worker.next;
    }
    if (worker.next < questions.size() && (status != 0 || worker.next == first)) {
        ended[questions[worker.next]] = status;
        done[questions[worker.next++]] = true;
    }
    worker.child = 0;
}

} // namespace

void *shared_pages(std::size_t bytes) {
    void *pages = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    return pages;
}

void ask_in_children(unsigned int count, unsigned int block,
                     const std::function<bool(unsigned int)> &ask,
                     const std::function<void(unsigned int, int)> &tell) {
    Done *done = shared<Done>(count);
    std::vector<int> ended(count);
    Worker workers[worker_count];
    for (unsigned int i = 0; i < count; ++i) {
        workers[i / block % worker_count].questions.push_back(i);
    }
    for (unsigned int told = 0; told < count;) {
        for (Worker &worker : workers) {
            int status = 0;
            if (worker.child != 0 && waitpid(worker.child, &status, WNOHANG) == worker.child) {
                advance(worker, status, done, ended);
            }
            if (worker.child == 0 && worker.next < worker.questions.size()) {
                worker.child = fork_off([&] { ask_some(worker, done, ask); });
            }
        }
        for (; told < count && done[told]; ++told) {
            tell(told, ended[told]);
        }
        usleep(2000);
    }
    for (const Worker &worker : workers) {
        if (worker.child != 0) {
            waitpid(worker.child, nullptr, 0);
        }
    }
    munmap(done, count * sizeof(Done));
}

} // namespace record
