// SPDX-License-Identifier: BSD-3-Clause
#include "programs/torus_run/daemon/ending.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/units.h"
#include "programs/torus_run/daemon/descendants.h"
#include "programs/torus_run/daemon/pulse.h"
#include "programs/torus_run/streams/packing.h"

namespace torusmp::torus_run {

std::string stopped_front_message(int exit_code) {
    if (!is_stopped(getppid())) return {};
    return fmt::format(
        "torus-run: the job has ended with exit code {}, but torus-run (pid {}) is "
        "stopped: kill -CONT {} lets it exit\n",
        exit_code, getppid(), getppid());
}

std::string silent_host_message(const std::string& host, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "torus-run: warning: host {} did not answer when the job ended: the last output of its "
        "ranks may be missing; processes left there end by themselves within {}\n",
        host, base::format_time(timeout + Pulse::login_timeout(timeout)));
}

std::string own_sleep_message(std::chrono::nanoseconds slept, std::chrono::nanoseconds timeout) {
    return fmt::format(
        "gave up on torus-run: the daemon process on this host (pid {}) did not run for {:.1f} s, "
        "longer than transport.timeout = {}",
        getpid(), std::chrono::duration<double>(slept).count(), base::format_time(timeout));
}

void leave_ending(int file, const JobEnding& ending) {
    const auto bytes = Packer().add(int(ending.how)).add(ending.nodes).take();
    // A short write is read as no ending, and the job is not restarted.
    [[maybe_unused]] const ssize_t written = pwrite(file, bytes.data(), bytes.size(), 0);
}

std::optional<JobEnding> read_ending(int file) {
    struct stat info {};
    if (fstat(file, &info) != 0) return std::nullopt;
    std::vector<std::byte> bytes(std::size_t(info.st_size));
    if (pread(file, bytes.data(), bytes.size(), 0) != info.st_size) return std::nullopt;
    try {
        Unpacker unpacker(bytes);
        JobEnding ending;
        ending.how = JobEnding::How(unpacker.get<int>());
        ending.nodes = unpacker.numbers();
        return ending;
    } catch (const PackingError&) {
        return std::nullopt;
    }
}

}  // namespace torusmp::torus_run
