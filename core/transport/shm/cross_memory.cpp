// SPDX-License-Identifier: BSD-3-Clause
#include "core/transport/shm/cross_memory.h"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace torusmp::transport::shm {
namespace {

using Call = ssize_t (*)(pid_t, const iovec*, unsigned long, const iovec*, unsigned long,
                         unsigned long);

// The kernel may stop early, at 2 GiB or between two pieces. Uses up the pieces.
Transfer copy(Call call, pid_t process, std::span<iovec> local, std::uint64_t remote) {
    std::size_t bytes = 0;
    for (const iovec& piece : local) bytes += piece.iov_len;
    while (bytes != 0) {
        const iovec there{reinterpret_cast<void*>(std::uintptr_t(remote)), bytes};
        const ssize_t moved = call(process, local.data(), local.size(), &there, 1, 0);
        if (moved <= 0) return Transfer::refused;
        remote += std::uint64_t(moved);
        bytes -= std::size_t(moved);
        auto rest = std::size_t(moved);
        for (; !local.empty() && rest >= local[0].iov_len; local = local.subspan(1))
            rest -= local[0].iov_len;
        if (rest == 0) continue;
        local[0].iov_base = static_cast<std::byte*>(local[0].iov_base) + rest;
        local[0].iov_len -= rest;
    }
    return Transfer::done;
}

template <class Piece>
Transfer copy(Call call, pid_t process, std::span<const Piece> local, std::uint64_t remote) {
    std::array<iovec, most_pieces> here;
    if (local.size() > here.size()) return Transfer::refused;
    for (std::size_t i = 0; i < local.size(); ++i)
        here[i] = {const_cast<std::byte*>(local[i].data()), local[i].size()};
    return copy(call, process, std::span(here).first(local.size()), remote);
}

template <class Copy>
Clock::duration shortest(Copy&& copy_once) {
    Clock::duration best = Clock::duration::max();
    for (int i = 0; i < 4; ++i) {
        const auto begin = Clock::now();
        copy_once();
        best = std::min(best, Clock::now() - begin);
    }
    return best;
}

constexpr std::size_t worth_timing = std::size_t{64} << 10;
// Where ranks share cores, shorter messages gain nothing.
constexpr std::size_t crowded_from = std::size_t{256} << 10;

}  // namespace

// Copies by the kernel and plainly, both within this process.
void CrossMemory::estimate() {
    constexpr std::size_t bytes = std::size_t{128} << 10;
    std::vector<std::byte> from(bytes, std::byte{1});
    std::vector<std::byte> to(bytes, std::byte{2});
    bool refused = false;
    const auto time_by_kernel = [&](std::size_t length) {
        return Rate::microseconds(shortest([&] {
            const auto address = std::uint64_t(reinterpret_cast<std::uintptr_t>(from.data()));
            const Bytes part = std::span(to).first(length);
            refused |= copy_from(getpid(), address, {&part, 1}) == Transfer::refused;
        }));
    };
    constexpr std::size_t few = 4096;
    const double all = time_by_kernel(bytes);
    const double call_and_few = std::min(time_by_kernel(few), all / 2);
    const auto plain = shortest([&] {
        std::memcpy(to.data(), from.data(), bytes);
        asm volatile("" : : "r"(to.data()) : "memory");
    });
    // The packet path copies twice. If each rank has a core, the two copies overlap. Otherwise the
    // ranks also take turns on a core for each few packets, which costs as much as the copies.
    by_packets_ = Rate::of(bytes, plain) * (oversubscribed_ ? 2.0 / 9 : 4.0 / 5);
    by_kernel_ = refused ? 0 : double(bytes - few) / (all - call_and_few);
    call_time_ = refused ? 0 : std::max(0.0, call_and_few - double(few) / by_kernel_);
    estimated_ = true;
}

bool reaches(const Segment& peer) {
    std::uint64_t seen = 0;
    const Bytes here = std::as_writable_bytes(std::span(&seen, 1));
    const Transfer transfer =
        copy_from(pid_t(peer.address().pid), peer.control().probe_address, {&here, 1});
    return transfer == Transfer::done && seen == peer.address().nonce;
}

Transfer copy_to(pid_t process, std::uint64_t remote, std::span<const ConstBytes> local) {
    return copy(&process_vm_writev, process, local, remote);
}

Transfer copy_from(pid_t process, std::uint64_t remote, std::span<const Bytes> local) {
    return copy(&process_vm_readv, process, local, remote);
}

bool CrossMemory::pays(std::size_t bytes, const PacketPath& path) {
    if (mode_ != CopyMode::automatic) return mode_ == CopyMode::one_copy;
    if (!estimated_) estimate();
    // Ranks that share cores lose them in the middle of a copy, so nothing is timed.
    if (oversubscribed_)
        return bytes >= crowded_from && kernel_.is_faster(kernel_rate_of(bytes) / by_packets_);
    const bool known = path.read != 0 && path.write != 0;
    const double by_packets = known ? rate_of(bytes, path) : by_packets_;
    return kernel_.is_faster(kernel_rate_of(bytes) / by_packets) && known && !kernel_.tries_ours();
}

double CrossMemory::kernel_rate_of(std::size_t bytes) {
    const double rate = kernel_rate();
    return rate == 0 ? 0 : double(bytes) / (call_time_ + double(bytes) / rate);
}

// The two ends copy side by side, so the slower counts, but for one payload.
double CrossMemory::rate_of(std::size_t bytes, const PacketPath& path) const {
    const auto [slower, faster] = std::minmax({double(path.read), double(path.write)});
    const std::size_t after = std::min(bytes, path.payload);
    return double(bytes) / (double(bytes) / slower + double(after) / faster);
}

double CrossMemory::kernel_rate() {
    if (mode_ == CopyMode::packets) return 0;
    if (!estimated_) estimate();
    const std::uint32_t measured = measured_.load(std::memory_order_relaxed);
    return measured != 0 ? measured : by_kernel_;
}

void CrossMemory::copied(std::size_t bytes, Clock::duration time) {
    if (bytes < worth_timing || oversubscribed_) return;
    const double whole = Rate::microseconds(time);
    rate_.add(double(bytes) / std::max(whole - call_time_, whole / 2));
}

}  // namespace torusmp::transport::shm
