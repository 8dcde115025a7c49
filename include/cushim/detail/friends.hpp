/* Classes that public classes hold or befriend, and programs never see. */
#ifndef CUSHIM_DETAIL_FRIENDS_HPP
#define CUSHIM_DETAIL_FRIENDS_HPP

#include <cushim/detail/cpp20.hpp>

namespace cushim::detail {

struct State;       // of an owner: src/api/base/state.hpp
struct Access;      // to owners: owner.hpp
struct GraphAccess; // to GraphNode and GraphCondition
struct CodeAccess;  // to JitLog

} // namespace cushim::detail

#endif
