// Asks questions in child processes, since a call may crash or leave state behind.
#pragma once

#include <functional>

#include <sys/mman.h>

namespace record {

// Zeroed memory that child processes share.
void *shared_pages(std::size_t bytes);
template <class Type>
Type *shared(std::size_t count) {
    return static_cast<Type *>(shared_pages(count * sizeof(Type)));
}

// Calls ask(i) for each i below `count` in child processes. There are few, since starting and
// ending one takes most of a second: each asks the questions of every fourth block. If ask()
// returns false or the child ends, another one continues. Calls tell(i, ended) for each i in order,
// as soon as the questions up to there are complete: `ended` is the wait status if the question
// ended its process, else 0.
void ask_in_children(unsigned int count, unsigned int block,
                     const std::function<bool(unsigned int)> &ask,
                     const std::function<void(unsigned int, int)> &tell);

} // namespace record
