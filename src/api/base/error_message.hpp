// The message of an Error: cushim's function, the call and its status, the versions, the reason.
#pragma once

#include <cushim/detail/loader.h>
#include <cushim/error.hpp>

#include <string_view>

namespace cushim::detail {

inline const char *or_empty(const char *text) noexcept {
    return text != nullptr ? text : "";
}

// What an Error stores for its message.
struct MessageParts {
    const char *function;        // that the program called; "" if there is none
    const cushim_report *report; // why the library is absent; null if that is not the reason
    const char *status_name;     // of a status of a further library; "" if it is not known
    std::string_view detail;
    std::string_view reasons; // in the driver's log
};

// Null if out of memory; `operator delete` frees it.
char *make_message(const Error &error, const MessageParts &parts) noexcept;

// The message of an error without further information, which needs no memory.
const char *sentence_of(ErrorKind kind) noexcept;

} // namespace cushim::detail
