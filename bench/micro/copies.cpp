// SPDX-License-Identifier: BSD-3-Clause
// The ways in which two processes of a host, each on a core of its own, can move a message between
// their private memories: the kernel copies it, once or in two halves; or two copies go through
// shared cells, of several sizes and numbers, with plain or with streaming stores, or with plain
// ones into a cell that was fetched for writing when the last one was full. And the ways if both
// have mapped the memory of the program: one copy, or a half by each. With ordinary pages, and
// with huge ones for what is private.
//
//   copy_benchmarks [--short]   prints the rate of one message at a time and of a stream, in GB/s
//
// Cells that together are smaller than a core's private cache are slow: the writer must take each
// line back from the reader's cache. This is why OutSlotQueue and Area move through more memory,
// and why OutSlotQueue fetches it ahead.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "base/cache.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace {

constexpr std::size_t largest = std::size_t{4} << 20;
constexpr std::size_t most_cell_bytes = std::size_t{4} << 20;  // of one direction
constexpr std::size_t most_cells = 1024;
constexpr std::size_t huge_page = std::size_t{2} << 20;

using Copy = void (*)(std::byte*, const std::byte*, std::size_t);
using Word = std::atomic<std::uint64_t>;
struct alignas(64) Line {
    Word word;
};

// The memory that both processes map. The index is the process that writes.
struct Shared {
    std::array<Line, 2> turn;
    std::array<Line, 2> pid, out, in;  // of the process: its messages' memory
    std::array<Line, 2> asked, halved, taken;
    std::array<std::array<Line, most_cells>, 2> filled;
    alignas(4096) std::byte cells[2][most_cell_bytes];
    // Memory of the program that both have mapped: messages that leave and that arrive.
    alignas(4096) std::byte out_there[2][largest], in_there[2][largest];
};

void plain(std::byte* to, const std::byte* from, std::size_t bytes) {
    std::memcpy(to, from, bytes);
}

#ifdef __SSE2__
void streaming(std::byte* to, const std::byte* from, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; i += sizeof(__m128i))
        _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                         _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
    _mm_sfence();
}
#endif

void wait_for(const Word& word, std::uint64_t value) {
    while (word.load(std::memory_order_acquire) < value) {
    }
}

// One of the two processes.
class End {
  public:
    End(Shared& shared, int me) : shared_(shared), me_(me) {
        publish(shared_.pid, std::uint64_t(getpid()));
        use_pages(false);
        std::memset(shared_.out_there[me], 1, largest);
        std::memset(shared_.in_there[me], 1, largest);
    }

    // Private memory of ordinary or huge pages, as far as the kernel gives these.
    void use_pages(bool huge) {
        for (auto* memory : {&out_, &in_}) {
            *memory = {};
            memory->reset(new (std::align_val_t(huge_page)) std::byte[largest]);
            madvise(memory->get(), largest, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
            std::memset(memory->get(), 1, largest);
        }
        meet();
        offered_ = taken_ = 0;
        for (auto* lines : {&shared_.asked, &shared_.halved, &shared_.taken})
            (*lines)[std::size_t(me_)].word = 0;
        publish(shared_.out, std::uint64_t(reinterpret_cast<std::uintptr_t>(out_.get())));
        publish(shared_.in, std::uint64_t(reinterpret_cast<std::uintptr_t>(in_.get())));
        meet();
    }

    bool first() const { return me_ == 0; }
    void meet() {
        publish(shared_.turn, ++turn_);
        wait_for(shared_.turn[other()].word, turn_);
    }

    // ---- one copy, or a half by each: by the kernel, or of mapped memory ----
    void offer(std::size_t bytes, bool halves, bool mapped) {
        publish(shared_.asked, ++offered_);
        if (halves) {
            const std::size_t half = bytes / 2;
            if (mapped)
                plain(shared_.in_there[other()] + half, shared_.out_there[me_] + half,
                      bytes - half);
            else
                copy(process_vm_writev, out_.get(), shared_.in, half, bytes - half);
            publish(shared_.halved, offered_);
        }
        wait_for(shared_.taken[other()].word, offered_);
    }
    void take(std::size_t bytes, bool halves, bool mapped) {
        wait_for(shared_.asked[other()].word, ++taken_);
        const std::size_t part = halves ? bytes / 2 : bytes;
        if (mapped)
            plain(shared_.in_there[me_], shared_.out_there[other()], part);
        else
            copy(process_vm_readv, in_.get(), shared_.out, 0, part);
        if (halves) wait_for(shared_.halved[other()].word, taken_);
        publish(shared_.taken, taken_);
    }

    // ---- cells ----
    void use_cells(std::size_t bytes, std::size_t count) {
        meet();
        cell_ = bytes;
        count_ = count;
        sent_ = received_ = 0;
        for (Line& line : shared_.filled[std::size_t(me_)]) line.word = 0;
        shared_.taken[std::size_t(me_)].word = 0;
        meet();
    }
    void put(std::size_t bytes, Copy store, bool fetches) {
        for (std::size_t at = 0; at < bytes; at += cell_) {
            const std::size_t cell = sent_ % count_;
            if (sent_ >= count_) wait_for(shared_.taken[other()].word, sent_ - count_ + 1);
            store(shared_.cells[me_] + cell * cell_, out_.get() + at, std::min(cell_, bytes - at));
            shared_.filled[std::size_t(me_)][cell].word.store(++sent_, std::memory_order_release);
            if (fetches)
                torusmp::base::fetch_to_write(shared_.cells[me_] + sent_ % count_ * cell_,
                                              std::min({bytes, cell_, std::size_t{16} << 10}));
        }
    }
    void get(std::size_t bytes) {
        for (std::size_t at = 0; at < bytes; at += cell_) {
            const std::size_t cell = received_ % count_;
            wait_for(shared_.filled[other()][cell].word, received_ + 1);
            plain(in_.get() + at, shared_.cells[other()] + cell * cell_,
                  std::min(cell_, bytes - at));
            publish(shared_.taken, ++received_);
        }
    }

  private:
    std::size_t other() const { return std::size_t(1 - me_); }
    void publish(std::array<Line, 2>& lines, std::uint64_t value) {
        lines[std::size_t(me_)].word.store(value, std::memory_order_release);
    }
    template <class Call>
    void copy(Call call, std::byte* here, const std::array<Line, 2>& there, std::size_t begin,
              std::size_t bytes) {
        const iovec local{here + begin, bytes};
        const iovec remote{reinterpret_cast<void*>(there[other()].word.load() + begin), bytes};
        const auto pid = pid_t(shared_.pid[other()].word.load());
        if (call(pid, &local, 1, &remote, 1, 0) == ssize_t(bytes)) return;
        fmt::print(stderr, "copy_benchmarks: the kernel refuses to copy: {}\n", strerror(errno));
        _exit(1);
    }

    Shared& shared_;
    int me_;
    struct Free {
        void operator()(std::byte* memory) const {
            ::operator delete[](memory, std::align_val_t(huge_page));
        }
    };
    std::unique_ptr<std::byte[], Free> out_, in_;
    std::uint64_t turn_ = 0, offered_ = 0, taken_ = 0;
    std::size_t cell_ = 0, count_ = 0;
    std::uint64_t sent_ = 0, received_ = 0;
};

struct Way {
    std::function<void(std::size_t)> send, receive;
};

// The best of some batches, in GB/s.
double rate(End& end, const Way& way, std::size_t bytes, bool there_and_back, bool brief) {
    using Clock = std::chrono::steady_clock;
    const std::size_t moved = brief ? 1 << 20 : 32 << 20;
    const std::size_t messages = std::clamp<std::size_t>(moved / bytes, 4, 400);
    double best = 0;
    for (int batch = 0; batch < (brief ? 1 : 5); ++batch) {
        end.meet();
        const auto begin = Clock::now();
        for (std::size_t i = 0; i < messages; ++i) {
            end.first() ? way.send(bytes) : way.receive(bytes);
            if (there_and_back) end.first() ? way.receive(bytes) : way.send(bytes);
        }
        end.meet();
        const std::chrono::duration<double> time = Clock::now() - begin;
        const double all = double(messages * bytes) * (there_and_back ? 2 : 1);
        best = std::max(best, all / time.count() / 1e9);
    }
    return best;
}

void print(End& end, std::string_view name, const Way& way, bool brief) {
    constexpr std::size_t sizes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
    std::string line = fmt::format("{:<42}", name);
    for (const bool there_and_back : {true, false}) {
        for (const std::size_t bytes : sizes)
            line += fmt::format(" {:6.2f}", rate(end, way, bytes, there_and_back, brief));
        if (there_and_back) line += "  |";
    }
    if (end.first()) fmt::print("{}\n", line);
}

void stay_on(int processor) {
    cpu_set_t allowed, wanted;
    CPU_ZERO(&wanted);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    for (int p = 0; p < CPU_SETSIZE; ++p)
        if (CPU_ISSET(p, &allowed) && processor-- == 0) CPU_SET(p, &wanted);
    if (CPU_COUNT(&wanted) != 0) sched_setaffinity(0, sizeof wanted, &wanted);
}

void measure(End& end, bool brief) {
    end.meet();
    if (end.first())
        fmt::print("GB/s: one message at a time | a stream, of 4, 16, 64, 256 KiB, 1, 4 MiB\n");
    const auto in_one_copy = [&](std::string_view name, bool mapped, std::string_view pages) {
        for (const bool halves : {false, true})
            print(end,
                  fmt::format("{}, {}{}", name, halves ? "each end a half" : "the receiver reads",
                              pages),
                  {[&](std::size_t n) { end.offer(n, halves, mapped); },
                   [&](std::size_t n) { end.take(n, halves, mapped); }},
                  brief);
    };
    in_one_copy("kernel", false, "");
    in_one_copy("mapped", true, "");
    struct Store {
        std::string_view name;
        Copy copy;
        bool fetches;
    };
    const std::vector<Store> stores{{"plain", plain, false},
                                    {"fetched", plain, true},
#ifdef __SSE2__
                                    {"streaming", streaming, false}
#endif
    };
    const auto through_cells = [&](const Store& store, std::size_t bytes, std::size_t count,
                                   std::string_view pages) {
        end.use_cells(bytes, count);
        print(end, fmt::format("{} cells of {} KiB, {}{}", count, bytes >> 10, store.name, pages),
              {[&](std::size_t n) { end.put(n, store.copy, store.fetches); },
               [&](std::size_t n) { end.get(n); }},
              brief);
    };
    for (const Store& store : stores)
        for (const auto& [bytes, count] : {std::pair{4 << 10, 16},
                                           {8 << 10, 32},
                                           {8 << 10, 128},
                                           {8 << 10, 256},
                                           {16 << 10, 128},
                                           {32 << 10, 64}})
            through_cells(store, std::size_t(bytes), std::size_t(count), "");
    end.use_pages(true);
    in_one_copy("kernel", false, ", huge pages");
    through_cells(stores[1], 8 << 10, 256, ", huge pages");
    end.meet();
}

}  // namespace

int main(int argc, char** argv) {
    const bool brief = argc > 1 && std::string_view(argv[1]) == "--short";
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) {
        fmt::print("copy_benchmarks: this process may use only one processor (expected two)\n");
        return 0;
    }
    void* const memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    Shared& shared = *::new (memory) Shared{};
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
    const pid_t child = fork();
    if (child < 0) return 1;
    stay_on(child == 0 ? 1 : 0);
    {
        End end(shared, child == 0 ? 1 : 0);
        measure(end, brief);
    }
    if (child == 0) _exit(0);
    int status = 0;
    waitpid(child, &status, 0);
    return status == 0 ? 0 : 1;
}
