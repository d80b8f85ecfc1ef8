// mounts.hpp: the files that a confined worker sees.
//
// Promises: all that was mounted is read-only and without set-user-id; /tmp, /var/tmp and /dev/shm are empty, private
// and of limited size; /dev holds null, zero, full, random, urandom and the GPUs' nodes; /run holds the GPU drivers'
// entries only; /proc is of the pid namespace. The worker's program stands at a path that says nothing of assay. The
// candidate's library stays where it was, also below a covered folder or one that is closed to others.
// Not promised: a library's dependencies in another folder that is closed to others.
// Who calls it: supervisor.cc, in the first process of a fresh pid and mount namespace.
#pragma once

#include <string>

#include "harness/worker/confinement.hpp"

namespace assay {

// The path to execute the program by: `name` is its last part. Throws std::system_error.
[[nodiscard]] std::string arrange_mounts(const Confinement&, const std::string& name);

}  // namespace assay
