// SPDX-License-Identifier: BSD-3-Clause
#include "io/local_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

namespace torusmp::io {
namespace {

// The kernel moves at most 2 GiB in one call; smaller pieces let other work of a rank in between.
constexpr std::size_t longest_call = std::size_t(1) << 30;

Offset size_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return std::numeric_limits<Offset>::max();
    return Offset(std::min<rlim_t>(limit.rlim_cur, rlim_t(std::numeric_limits<Offset>::max())));
}

// Repeats a call that a signal has interrupted.
template <class Call>
auto restarted(Call&& call) {
    auto result = call();
    while (result == -1 && errno == EINTR) result = call();
    return result;
}

int error_of(int result) {
    return result == 0 ? 0 : errno;
}

}  // namespace

std::unique_ptr<LocalStore> LocalStore::open(const std::string& path, int flags, int& error) {
    const int descriptor = restarted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); });
    if (descriptor == -1) {
        error = errno;
        return nullptr;
    }
    std::unique_ptr<LocalStore> store(new LocalStore(descriptor, size_limit()));
    // A folder can be opened for reading, but not read.
    struct stat facts {};
    error = store->describe(facts);
    if (error == 0 && S_ISDIR(facts.st_mode)) error = EISDIR;
    return error == 0 ? std::move(store) : nullptr;
}

LocalStore::~LocalStore() {
    close();
}

int LocalStore::close() {
    if (descriptor_ == -1) return 0;
    ring_.reset();
    const int result = ::close(descriptor_);
    descriptor_ = -1;
    // Linux has released the descriptor whatever close() returns.
    return result == 0 || errno == EINTR ? 0 : errno;
}

int LocalStore::describe(struct stat& facts) const {
    return error_of(::fstat(descriptor_, &facts));
}

Outcome LocalStore::read(std::byte* memory, std::size_t bytes, Offset at) {
    Outcome outcome;
    while (outcome.bytes < bytes) {
        const ssize_t got = restarted([&] {
            return ::pread(descriptor_, memory + outcome.bytes,
                           std::min(bytes - outcome.bytes, longest_call),
                           at + Offset(outcome.bytes));
        });
        if (got == -1) outcome.error = errno;
        if (got <= 0) break;
        outcome.bytes += std::size_t(got);
    }
    return outcome;
}

Outcome LocalStore::write(const std::byte* memory, std::size_t bytes, Offset at) {
    Outcome outcome;
    while (outcome.bytes < bytes) {
        const Offset from = at + Offset(outcome.bytes);
        if (from >= limit_) {
            outcome.error = EFBIG;
            break;
        }
        const std::size_t room = std::min(longest_call, std::size_t(limit_ - from));
        const std::size_t piece = std::min(bytes - outcome.bytes, room);
        const ssize_t put = restarted(
            [&] { return ::pwrite(descriptor_, memory + outcome.bytes, piece, from); });
        if (put == 0) outcome.error = EIO;
        if (put == -1) outcome.error = errno;
        if (put <= 0) break;
        outcome.bytes += std::size_t(put);
    }
    return outcome;
}

// A write beyond the limit is left to write(), which knows how to avoid the signal.
void LocalStore::begin(Transfer& transfer) {
    if (transfer.write && Offset(transfer.bytes) > limit_ - transfer.at)
        return Store::begin(transfer);
    if (!ring_) ring_.emplace(Ring::make(descriptor_));
    if (*ring_ == nullptr || !(*ring_)->begin(transfer)) Store::begin(transfer);
}

void LocalStore::take_ended(bool wait) {
    if (ring_ && *ring_ != nullptr) (*ring_)->take_ended(wait);
}

Offset LocalStore::size() {
    struct stat facts {};
    const int error = describe(facts);
    if (error != 0) return -error;
    if (!S_ISBLK(facts.st_mode)) return facts.st_size;
    const off_t end = ::lseek(descriptor_, 0, SEEK_END);  // of a device
    return end == -1 ? -errno : end;
}

int LocalStore::resize(Offset size) {
    if (size > limit_) return EFBIG;
    return error_of(restarted([&] { return ::ftruncate(descriptor_, size); }));
}

int LocalStore::reserve(Offset size) {
    if (size == 0) return 0;
    if (size > limit_) return EFBIG;
    int error = 0;
    do error = ::posix_fallocate(descriptor_, 0, size);
    while (error == EINTR);
    return error;
}

int LocalStore::flush() {
    const int error = error_of(restarted([&] { return ::fsync(descriptor_); }));
    return error == EINVAL || error == EROFS ? 0 : error;  // devices that keep nothing back
}

// Locks of open file descriptions: those of POSIX end when any descriptor of the file is closed.
int LocalStore::lock(Offset from, Offset bytes, bool shared) {
    struct flock range {};
    range.l_type = shared ? F_RDLCK : F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = from;
    range.l_len = bytes;
    return restarted([&] { return ::fcntl(descriptor_, F_OFD_SETLKW, &range); }) == -1 ? errno : 0;
}

int LocalStore::unlock(Offset from, Offset bytes) {
    struct flock range {};
    range.l_type = F_UNLCK;
    range.l_whence = SEEK_SET;
    range.l_start = from;
    range.l_len = bytes;
    return restarted([&] { return ::fcntl(descriptor_, F_OFD_SETLK, &range); }) == -1 ? errno : 0;
}

}  // namespace torusmp::io
