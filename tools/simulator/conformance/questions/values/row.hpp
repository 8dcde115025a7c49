// The results of similar calls, printed as one line.
#pragma once

#include "../../record.hpp"

#include <cstdio>
#include <string>
#include <unistd.h>

#include <sys/wait.h>

namespace record {

// For each call 0, the status of a failure in parentheses, or what a successful call returned.
class Row {
  public:
    void add(int status) { append(status == 0 ? "0" : "(" + std::to_string(status) + ")"); }
    template <class... Outputs>
    void add(int status, Outputs... outputs) {
        if (status != 0) {
            add(status);
            return;
        }
        std::string all;
        ((all += (all.empty() ? "" : "/") + std::to_string(outputs)), ...);
        append(all);
    }
    void append(const std::string &result) { text_ += (text_.empty() ? "" : " ") + result; }
    void print(const std::string &name) const { note(name, text_.c_str()); }
    const std::string &text() const { return text_; }

  private:
    std::string text_;
};

// Makes a row in a process of its own, which may crash, and prints it.
template <class Body>
void row_apart(const std::string &name, const Body &body) {
    int ends[2];
    if (pipe(ends) != 0) {
        std::perror("pipe");
        return;
    }
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(30); // a child does not inherit its parent's alarm
        Row row;
        body(row);
        const bool sent = write(ends[1], row.text().data(), row.text().size()) >= 0;
        _exit(sent ? 0 : 1);
    }
    close(ends[1]);
    alarm(60); // restarts the section's limit: some sections have many processes
    Row row;
    char part[512];
    for (ssize_t size = 0; (size = read(ends[0], part, sizeof part)) > 0;) {
        row.append(std::string(part, static_cast<std::size_t>(size)));
    }
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) {
        row.append("ended with " + std::to_string(status));
    }
    row.print(name);
}

} // namespace record
