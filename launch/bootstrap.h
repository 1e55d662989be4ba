// How a rank learns who it is and meets the others: one small interface over torus-run's own
// launcher, PMIx, and the single process without a launcher.
//
// Owned by the front end that starts the Runtime; one thread at a time may call. Collective calls
// must be made by all ranks in the same order. Errors are BootstrapError with a message for people.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace torusmp::launch {

class BootstrapError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

class Bootstrap {
  public:
    virtual ~Bootstrap() = default;

    virtual std::string_view name() const = 0;  // "torus-run", "pmix", "single"
    virtual int rank() const = 0;
    virtual int size() const = 0;
    // Ranks of this host, ascending, this one included.
    virtual const std::vector<int>& local_ranks() const = 0;
    // The same on every rank of a job, different for every job: 16 random bytes.
    virtual std::span<const std::byte> secret() const = 0;

    // Everybody's bytes, by rank. Collective; lengths may differ.
    virtual std::vector<std::vector<std::byte>> exchange(std::span<const std::byte> mine) = 0;
    // Collective; sleeps, never spins.
    virtual void barrier() = 0;
    // Ends the whole job. The launcher prints the message, stops every rank and exits with code.
    [[noreturn]] virtual void abort(int code, std::string_view message) = 0;
    // This rank is done in an orderly way: leaving without it is reported as a failure of the job.
    virtual void finalize() = 0;
};

// Finds out who started this process and connects to it. Throws BootstrapError when a launcher is
// recognised but cannot be talked to: a program started N times must never run as N silent
// single ranks.
std::unique_ptr<Bootstrap> connect_bootstrap();

}  // namespace torusmp::launch
