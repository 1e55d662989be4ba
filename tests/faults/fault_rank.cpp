// SPDX-License-Identifier: BSD-3-Clause
// A rank that exchanges small and large messages over every link of its torus, with a neighbour of
// its neighbours by relay, and with all ranks, until rank 0 finds the file STOP. All received data
// is checked.
//
//   fault_rank DIMS READY STOP     dims of the torus of nodes; rank 0 makes READY when all talk
//
// Exit code: 0 stopped by STOP, 3 QMP reported an error, 4 wrong bytes arrived, 2 bad arguments.

#include <fmt/format.h>
#include <qmp.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "routing/torus.h"

using namespace torusmp;

namespace {

constexpr std::size_t sizes[] = {8, 2000, 60000};
constexpr int rounds_until_ready = 10;

[[noreturn]] void end(int code, const std::string& what) {
    fmt::print(stderr, "fault_rank: rank {}: {}\n", QMP_get_node_number(), what);
    QMP_abort(code);
    _exit(code);
}

void check(QMP_status_t status, const char* call) {
    if (status != QMP_SUCCESS) end(3, fmt::format("{}: {}", call, QMP_error_string(status)));
}

std::byte byte_of(int from, long round, std::size_t line) {
    return std::byte(from * 31 + int(round) * 7 + int(line));
}

// A message each way with one rank, whose size is one of the three.
class Exchange {
  public:
    Exchange(int peer, std::size_t bytes, std::size_t line)
        : peer_(peer), line_(line), out_(bytes), in_(bytes) {
        memory_[0] = QMP_declare_msgmem(in_.data(), bytes);
        memory_[1] = QMP_declare_msgmem(out_.data(), bytes);
        receive_ = QMP_declare_receive_from(memory_[0], peer, 0);
        send_ = QMP_declare_send_to(memory_[1], peer, 0);
        if (receive_ == nullptr || send_ == nullptr) end(3, "a channel cannot be declared");
    }
    ~Exchange() {
        QMP_free_msghandle(send_);
        QMP_free_msghandle(receive_);
        for (QMP_msgmem_t memory : memory_) QMP_free_msgmem(memory);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    void start(long round) {
        std::fill(in_.begin(), in_.end(), std::byte{0});
        std::fill(out_.begin(), out_.end(), byte_of(QMP_get_node_number(), round, line_));
        check(QMP_start(receive_), "QMP_start");
        check(QMP_start(send_), "QMP_start");
    }
    void wait(long round) {
        check(QMP_wait(receive_), "QMP_wait");
        check(QMP_wait(send_), "QMP_wait");
        const std::byte wanted = byte_of(peer_, round, line_);
        if (!std::all_of(in_.begin(), in_.end(), [&](std::byte b) { return b == wanted; }))
            end(4, fmt::format("wrong bytes from rank {} in round {}", peer_, round));
    }

  private:
    int peer_;
    std::size_t line_;
    std::vector<std::byte> out_, in_;
    QMP_msgmem_t memory_[2];
    QMP_msghandle_t receive_ = nullptr;
    QMP_msghandle_t send_ = nullptr;
};

// Neighbours, and the rank half way round in all dimensions; each pair asks for the other.
std::vector<int> partners(const routing::Torus& torus, int self) {
    std::vector<int> found;
    for (int i = 0; i < 2 * torus.dimensions(); ++i)
        if (const auto next = torus.neighbour(self, routing::Direction::from_index(i)))
            found.push_back(*next);
    found.push_back(torus.size() - 1 - self);
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    found.erase(std::remove(found.begin(), found.end(), self), found.end());
    return found;
}

void talk(const routing::Torus& torus, const std::string& ready, const std::string& stop) {
    const int self = QMP_get_node_number();
    std::vector<std::unique_ptr<Exchange>> exchanges;
    for (const int peer : partners(torus, self))
        for (std::size_t line = 0; line < std::size(sizes); ++line)
            exchanges.push_back(std::make_unique<Exchange>(peer, sizes[line], line));
    for (long round = 0;; ++round) {
        for (auto& exchange : exchanges) exchange->start(round);
        for (auto& exchange : exchanges) exchange->wait(round);
        double stopping = self == 0 && access(stop.c_str(), F_OK) == 0 ? 1 : 0;
        check(QMP_sum_double(&stopping), "QMP_sum_double");
        if (stopping != 0) return;
        if (self == 0 && round == rounds_until_ready) std::ofstream(ready) << "ready\n";
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        fmt::print(stderr, "usage: fault_rank DIMS READY STOP\n");
        return 2;
    }
    QMP_thread_level_t provided;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &provided) != QMP_SUCCESS) return 3;
    const std::vector<int> dims = routing::parse_dims(argv[1]);
    talk(routing::Torus(dims), argv[2], argv[3]);
    QMP_finalize_msg_passing();
    return 0;
}
