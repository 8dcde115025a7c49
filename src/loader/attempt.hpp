/* One search under way: tries candidates, judges them, and writes down what happened to each. */
#pragma once

#include "candidates.hpp"
#include "platform.hpp"

namespace cushim {

struct Search {
    cushim_library library;
    Candidates candidates = {nullptr, 0, 0};
    platform::Module module = nullptr; // what was found
    int version = 0;
    bool chosen = false; // a path was chosen: nothing else is tried
    bool beside = false; // it follows from the path that was chosen for the driver

    bool driver() const { return library == CUSHIM_LIBRARY_DRIVER; }
    const char *file_name() const {
        return driver() ? platform::driver_name : platform::runtime_name;
    }
};

/* Each returns whether the library was found, and is then in search.module. */

/* A library by its path. The file is looked at first: a damaged one would end the process. */
bool try_path(Search &search, const char *path);

/* Only where the file exists: for folders of which most are not there on any one machine. */
bool try_path_if_there(Search &search, const char *folder, const char *name);

/* A copy that the process has loaded before. */
bool try_already_loaded(Search &search, const char *name);

/* By file name alone: the system's default search. It takes the first that it finds, and so may
 * stop at a link stub with a driver behind it: this goes on. */
bool try_default_search(Search &search, const char *name);

/* The one path that somebody chose. A bare file name leaves the folder to the system's search. */
bool try_chosen(Search &search, const char *path);

} // namespace cushim
