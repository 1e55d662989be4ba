// SPDX-License-Identifier: BSD-3-Clause
// A place in a job of torus-run for a process that runs already: torus-run starts a stand-in on the
// host of that process, and the stand-in passes its two sockets on. torus-run then treats the
// process as it treats the program under a wrapper: it knows when it ends.
//
// The two meet on an abstract socket with a name that cannot be guessed; both check that the other
// belongs to the same user.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "launch/bootstrap.h"

namespace torusmp::launch {

// The path of torus-stand-in in the installation of a torus-run, whose path this is.
std::string stand_in_path(const std::string& torus_run);

class Seat {
  public:
    // Listens under this name. Throws BootstrapError.
    explicit Seat(const std::string& name);
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    // Waits for a stand-in, 2 minutes at most. Throws BootstrapError, also after cancel().
    void take();
    // Ends take(), and what waits for torus-run after connect(), from another thread.
    void cancel() noexcept;

    // Connects to torus-run by the sockets that the stand-in has passed on. Call it once, after
    // take(). Throws BootstrapError.
    std::unique_ptr<Bootstrap> connect();
    // The settings of the job, as "NAME=VALUE".
    const std::vector<std::string>& environment() const { return environment_; }

    // Releases the stand-in, in good order. Without this call it ends when this process does, as if
    // it had died.
    void leave() noexcept;

  private:
    bool receive();

    std::mutex mutex_;  // cancel() reads the descriptors that take() changes
    bool cancelled_ = false;
    base::Descriptor listener_, stand_in_, socket_, notices_;
    base::Descriptor connection_;  // to torus-run, after connect(), for cancel()
    std::vector<std::string> environment_;
};

// Runs a stand-in: passes on what torus-run has given to this process, then waits until the process
// that has taken it leaves, or ends. `runs` means that that process has been started already; it
// then has one minute to come, otherwise ten. Returns the exit code.
int stand_in(const std::string& name, bool runs);

}  // namespace torusmp::launch
