// Errors name the wrapper's function that the program called: "Stream::synchronize: ...".
//
// CUSHIM_TRY, CUSHIM_DRIVER and CUSHIM_RUNTIME add the name by themselves. Every other failure that
// a public function returns passes through CUSHIM_NAMED:
//
//     return CUSHIM_NAMED(Error::invalid_argument("the size is 0"));
//     return CUSHIM_NAMED(adopt_stream(context, stream));
//
// Internal functions add no name, so the outermost public function decides.
#pragma once

#include <cushim/result.hpp>

#include <string_view>

namespace cushim::detail {

// What a header template calls, and the name by which programs know it.
struct Backend {
    std::string_view prefix, name;
};
inline constexpr Backend backends[] = {
    {"ContextScope::enter", "Context::enter"},
    {"AnyKernel::check_parameters", "AnyKernel::as"},
    {"Module::variable", "Module::global"},
    {"Library::variable", "Library::global"},
    {"Library::managed_variable", "Library::managed"},
    {"detail::DeviceMemory::", "DeviceBuffer::"},
    {"detail::GrowableMemory::", "GrowableBuffer::"},
    {"detail::HostMemory::register_range", "HostRegistration::create"},
    {"detail::ManagedMemory::allocate_bytes", "ManagedBuffer::allocate"},
    {"detail::ManagedMemory::adopt_bytes", "ManagedBuffer::adopt"},
    {"detail::ManagedMemory::advise_part", "ManagedBuffer::advise"},
    {"detail::ManagedMemory::prefetch_part", "ManagedBuffer::prefetch"},
    {"detail::ManagedMemory::", "ManagedBuffer::"},
    {"detail::PitchedMemory::allocate_rows", "PitchedBuffer::allocate"},
    {"detail::PitchedMemory::", "PitchedBuffer::"},
    {"detail::PoolMemory::", "PoolBuffer::"},
    {"detail::GraphMemory::", "GraphAllocation::"},
    {"Graph::add_allocation", "Graph::add_mem_alloc_node"},
    {"detail::copy", "copy"},
    {"detail::fill", "fill"},
};

// The qualified name in __PRETTY_FUNCTION__ or __FUNCSIG__, without "cushim::".
constexpr std::string_view name_in(std::string_view signature) noexcept {
    std::size_t begin = 0, end = 0;
    for (int depth = 0; end < signature.size(); ++end) {
        // MSVC names a function of a lambda "cushim::wrapper::<lambda_1>::operator ()".
        if (depth == 0 && signature.substr(end).starts_with("::<lambda")) {
            break;
        }
        const char character = signature[end];
        depth += (character == '<') - (character == '>');
        if (depth == 0 && character == ' ') {
            begin = end + 1;
        } else if (depth == 0 && character == '(') {
            if (!signature.substr(end).starts_with("(anonymous")) {
                break;
            }
            end = signature.find(')', end); // its space would end the name
        }
    }
    std::string_view name = signature.substr(begin, end - begin);
    constexpr std::string_view outer = "cushim::";
    const std::size_t after = name.find(outer); // a pointer's * may precede it
    return after < 3 ? name.substr(after + outer.size()) : name;
}

// Null for a name that programs do not know.
constexpr const Backend *backend_of(std::string_view name) noexcept {
    for (const Backend &backend : backends) {
        if (name.starts_with(backend.prefix)) {
            return &backend;
        }
    }
    return nullptr;
}

constexpr bool is_wrapper(std::string_view signature) noexcept {
    const std::string_view name = name_in(signature);
    if (name.find("anonymous") != name.npos) {
        return false;
    }
    return !name.starts_with("detail::") || backend_of(name) != nullptr;
}

template <bool Is>
inline constexpr bool constant = Is;

inline Error named(const Error &error, const char *function) noexcept {
    return named(Error(error), function);
}

// In place, which is shorter than named() for what CUSHIM_TRY returns.
template <class R>
decltype(auto) named_error(const Tried<R> &tried, const char *function) noexcept {
    if (function != nullptr) {
        name_error(tried.result.error(), function);
    }
    return tried.error();
}

} // namespace cushim::detail

#ifdef __GNUC__
#define CUSHIM_SIGNATURE __PRETTY_FUNCTION__
#else
#define CUSHIM_SIGNATURE __FUNCSIG__
#endif
// The signature of this function; null if programs do not know it.
#define CUSHIM_HERE                                                                                \
    (::cushim::detail::constant<::cushim::detail::is_wrapper(CUSHIM_SIGNATURE)> ? CUSHIM_SIGNATURE \
                                                                                : nullptr)
#define CUSHIM_NAMED(...) ::cushim::detail::named(__VA_ARGS__, CUSHIM_HERE)

#undef CUSHIM_DETAIL_PROPAGATED
#define CUSHIM_DETAIL_PROPAGATED(tried) ::cushim::detail::named_error(tried, CUSHIM_HERE)
