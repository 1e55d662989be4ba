// SPDX-License-Identifier: BSD-3-Clause
// The solver of the example wilson over MPI, with checkpoints in the memory of a neighbour: a
// lattice program that goes on when processes die, with new processes in their places.
//
//   torus-run --keep-going -np 4 diskless_wilson LATTICE ITERATIONS EVERY [SEED DEATHS]
//
// Solves S x = b, with wilson's even-odd preconditioned operator S and one random b after the
// other, by conjugate gradients, for that many iterations in all. Every EVERY iterations the ranks
// make a checkpoint (checkpoint.h), whose copy goes to the neighbour ahead in the first dimension
// that is shared by ranks. When a process dies, the others put a new one in its place
// (torusmp_replace). The bits of the result do not depend on the deaths. Rank 0 prints a sum over
// them.
//
// With SEED and DEATHS, that many processes kill themselves, one after the other, at iterations and
// on ranks that SEED decides.
#include <fmt/format.h>
#include <mpi-ext.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "cg.h"
#include "checkpoint.h"
#include "dslash.h"
#include "gauge.h"
#include "halo.h"
#include "lattice.h"
#include "random.h"

using namespace wilson;

namespace {

constexpr double kappa = 0.12, tolerance = 1e-10;
constexpr std::uint64_t links_seed = 1, source_seed = 2;

// A call that failed because a process has died, here or elsewhere.
struct Failed {
    int code;
};

void check_mpi(int code) {
    if (code != MPI_SUCCESS) throw Failed{code};
}

using Neighbours = std::array<int, 8>;  // ranks, by direction

class MpiHalo final : public HaloExchange {
  public:
    MpiHalo(MPI_Comm comm, const Neighbours& ranks, const Lattice& lattice, int parity,
            std::size_t bytes, std::span<const int> send_directions)
        : comm_(comm) {
        for (const int to : send_directions) {
            const int from = opposite(to);
            const std::size_t coming = lattice.face(1 - parity, from).size() * bytes;
            const std::size_t going = lattice.face(parity, to).size() * bytes;
            // The tag is the direction in which a face moves.
            if (coming > 0)
                check_mpi(MPI_Recv_init(allocate(coming, in_[from]), int(coming), MPI_BYTE,
                                        ranks[from], to, comm, add_request()));
            if (going > 0)
                check_mpi(MPI_Send_init(allocate(going, out_[to]), int(going), MPI_BYTE, ranks[to],
                                        to, comm, add_request()));
            bytes_sent_ += going;
        }
    }
    ~MpiHalo() override {
        for (MPI_Request& request : requests_) MPI_Request_free(&request);
    }
    void start() override { finish(MPI_Startall(int(requests_.size()), requests_.data())); }
    void wait() override { finish(wait_for_all()); }

  private:
    void* allocate(std::size_t bytes, void*& pointer) {
        buffers_.emplace_back((bytes + sizeof(HalfSpinor) - 1) / sizeof(HalfSpinor));
        return pointer = buffers_.back().data();
    }
    MPI_Request* add_request() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
    int wait_for_all() {
        return MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    }
    // After an error no request may stay under way. Those that a living neighbour will not complete
    // any more end by the revocation.
    void finish(int code) {
        if (code == MPI_SUCCESS) return;
        MPIX_Comm_revoke(comm_);
        wait_for_all();
        throw Failed{code};
    }

    MPI_Comm comm_;
    std::vector<std::vector<HalfSpinor>> buffers_;
    std::vector<MPI_Request> requests_;
};

Coord place_of(int rank, const Coord& grid) {
    Coord place{};
    for (int mu = 0; mu < 4; rank /= grid[mu++]) place[mu] = rank % grid[mu];
    return place;
}

int rank_at(const Coord& place, const Coord& grid) {
    int rank = 0;
    for (int mu = 3; mu >= 0; --mu) rank = rank * grid[mu] + place[mu];
    return rank;
}

Neighbours neighbours_of(const Coord& place, const Coord& grid) {
    Neighbours ranks{};
    for (int mu = 0; mu < 4; ++mu)
        for (const int direction : {forward(mu), backward(mu)}) {
            Coord there = place;
            const int step = direction == forward(mu) ? 1 : grid[mu] - 1;
            there[mu] = (place[mu] + step) % grid[mu];
            ranks[direction] = rank_at(there, grid);
        }
    return ranks;
}

class Solver {
  public:
    Solver(const Coord& extent, int rank, int ranks)
        : ranks_(ranks),
          grid_(best_grid(extent, ranks)),
          neighbours_(neighbours_of(place_of(rank, grid_), grid_)),
          lattice_(extent, grid_, place_of(rank, grid_)),
          gauge_(lattice_),
          sites_(std::size_t(lattice_.sites(0))),
          state_(3 * sites_ + 1),
          w_(sites_),
          z_(sites_) {
        randomise(gauge_, lattice_, links_seed);
    }
    void communicate_over(MPI_Comm comm) {
        comm_ = comm;
        operator_ = std::make_unique<WilsonOperator>(
            lattice_, gauge_, kappa, communication_,
            [&](const Lattice& lattice, int parity, std::size_t bytes,
                std::span<const int> send_directions) {
                return std::make_unique<MpiHalo>(comm, neighbours_, lattice, parity, bytes,
                                                 send_directions);
            });
    }
    bool communicates() const { return operator_ != nullptr; }
    void end() { operator_.reset(); }
    void begin() {
        numbers_ = {};
        begin_source();
    }
    void iterate() {
        if (numbers_.r2 > numbers_.goal) return take_step();
        numbers_.bits += bits_of_solution();
        ++numbers_.solved;
        begin_source();
    }
    // Sums over all ranks: of the bits of all solutions until now, and of the present one.
    std::uint64_t sum_of_bits() const {
        const std::uint64_t bits = numbers_.bits + bits_of_solution();
        std::uint64_t sum = 0;
        check_mpi(MPI_Allreduce(&bits, &sum, 1, MPI_UINT64_T, MPI_SUM, comm_));
        return sum;
    }
    std::uint64_t solved() const { return numbers_.solved; }

    // For checkpoints: the rank that keeps the copy, and the one whose copy this one keeps.
    int next() const { return neighbours_[forward(shared())]; }
    int before() const { return neighbours_[backward(shared())]; }
    std::size_t state_bytes() const { return state_.size() * sizeof(Spinor); }
    const void* state() {
        std::memcpy(&state_.back(), &numbers_, sizeof numbers_);
        return state_.data();
    }
    void* room_for_state() { return state_.data(); }
    void take_state() { std::memcpy(&numbers_, &state_.back(), sizeof numbers_); }

  private:
    using Field = std::span<Spinor>;
    // The part of the state beside the fields.
    struct Numbers {
        double r2, z2, goal;
        std::uint64_t solved, bits;
    };
    static_assert(sizeof(Numbers) <= sizeof(Spinor));

    Field part(std::size_t number) { return Field(state_).subspan(number * sites_, sites_); }
    Field x() { return part(0); }
    Field r() { return part(1); }
    Field p() { return part(2); }
    int shared() const {
        for (int mu = 0; mu < 4; ++mu)
            if (grid_[mu] > 1) return mu;
        return 0;
    }
    // In the order of ranks. MPI_Allreduce may take another order on a communicator with new
    // members, and so round in another way.
    void sum(std::span<double> values) const {
        const std::size_t count = values.size();
        std::vector<double> each(count * std::size_t(ranks_));
        check_mpi(MPI_Allgather(values.data(), int(count), MPI_DOUBLE, each.data(), int(count),
                                MPI_DOUBLE, comm_));
        std::ranges::fill(values, 0.0);
        for (std::size_t i = 0; i < each.size(); ++i) values[i % count] += each[i];
    }

    void begin_source() {
        for (std::size_t site = 0; site < sites_; ++site) {
            const auto place = std::uint64_t(lattice_.global_index(0, int(site)));
            CounterRandom random(source_seed,
                                 numbers_.solved * std::uint64_t(lattice_.volume()) + place);
            r()[site] = random_spinor(random);
            x()[site] = Spinor{};
        }
        iterate_by([this](Iteration& state) { wilson::begin(state, schur(), z_, sums()); });
        numbers_.goal = tolerance * tolerance * numbers_.r2;
    }
    void take_step() {
        iterate_by([this](Iteration& state) { wilson::take_step(state, schur(), z_, w_, sums()); });
    }
    template <class Call>
    void iterate_by(Call&& call) {
        Iteration state{x(), r(), p(), numbers_.z2, numbers_.r2};
        call(state);
        numbers_.z2 = state.z2;
        numbers_.r2 = state.r2;
    }
    Operator schur() {
        return [this](std::span<Spinor> out, std::span<const Spinor> in, Dagger dagger) {
            operator_->apply_schur(out, in, dagger);
        };
    }
    Sum sums() const {
        return [this](std::span<double> values) { sum(values); };
    }
    std::uint64_t bits_of_solution() const {
        std::uint64_t bits = 0;
        for (std::size_t site = 0; site < sites_; ++site) {
            std::uint64_t words[sizeof(Spinor) / sizeof(std::uint64_t)];
            std::memcpy(words, &state_[site], sizeof words);
            const auto place = std::uint64_t(lattice_.global_index(0, int(site)));
            for (std::size_t i = 0; i < std::size(words); ++i)
                bits += words[i] * (2 * (place * std::size(words) + i) + 1);
        }
        return bits;
    }

    const int ranks_;
    const Coord grid_;
    const Neighbours neighbours_;
    const Lattice lattice_;
    GaugeField gauge_;
    const std::size_t sites_;    // even ones
    std::vector<Spinor> state_;  // x, r, p, and a Spinor that holds the numbers
    Numbers numbers_{};
    std::vector<Spinor> w_, z_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    Stopwatch communication_;
    std::unique_ptr<WilsonOperator> operator_;  // null between two communicators
};

struct Task {
    Coord lattice{};
    long iterations = 0, every = 0;
    int seed = 0, deaths = 0;
};

Task read(int argc, char** argv) {
    if (argc != 4 && argc != 6)
        throw InputError(
            "expected LATTICE ITERATIONS EVERY [SEED DEATHS], for example 8x8x8x16 1000 20");
    Task task{parse_coord("lattice", argv[1]), std::atol(argv[2]), std::atol(argv[3])};
    if (argc == 6) task.seed = std::atoi(argv[4]), task.deaths = std::atoi(argv[5]);
    if (task.iterations < 1 || task.every < 1 || task.deaths < 0 || task.deaths > task.iterations)
        throw InputError("ITERATIONS and EVERY must be 1 or more, and DEATHS at most ITERATIONS");
    return task;
}

MPI_Comm prepare(MPI_Comm comm) {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
}

void run(const Task& task, MPI_Comm all, bool fresh, char** argv) {
    int rank = 0, ranks = 0;
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &ranks);
    Solver solver(task.lattice, rank, ranks);
    checkpoints kept;
    checkpoints_begin(&kept, solver.next(), solver.before(), solver.state_bytes());

    long step = -1, spared = -1;  // a new process does not die where the last one did
    std::uint64_t sum = 0;
    bool restores = fresh, done = false;
    while (true) {
        int code = MPI_SUCCESS;
        try {
            if (!solver.communicates()) solver.communicate_over(all);
            if (restores) {
                check_mpi(checkpoints_restore(&kept, all, &step, solver.room_for_state()));
                if (step >= 0) solver.take_state();
                if (fresh) spared = step + task.every;
                fresh = false;
            }
            if (step < 0) {
                solver.begin();
                step = 0;
            } else if (step == task.iterations) {
                sum = solver.sum_of_bits();
                done = true;
            } else if (!restores) {
                do {
                    if (task.deaths > 0 && step > spared &&
                        dies_here(step, task.iterations, task.seed, task.deaths, rank, ranks))
                        std::raise(SIGKILL);
                    solver.iterate();
                } while (++step % task.every != 0 && step < task.iterations);
            }
        } catch (const Failed& failed) {
            code = failed.code;
        }
        restores = !checkpoints_keep(&kept, all, step, code, solver.state());
        if (!restores && done) break;
        done = false;
        if (!restores) continue;
        MPI_Comm whole = MPI_COMM_NULL;
        if (torusmp_replace(all, argv[0], argv + 1, MPI_INFO_NULL, &whole) != MPI_SUCCESS)
            throw InputError("cannot replace the dead");
        solver.end();
        MPI_Comm_free(&all);
        all = prepare(whole);
    }
    if (rank == 0)
        fmt::print("result {:016x} after {} iterations, {} systems solved\n", sum, task.iterations,
                   solver.solved());
    solver.end();
    MPI_Comm_free(&all);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm parent = MPI_COMM_NULL, whole = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        torusmp_replace(MPI_COMM_NULL, nullptr, nullptr, MPI_INFO_NULL, &whole);
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &whole);
    try {
        run(read(argc, argv), prepare(whole), parent != MPI_COMM_NULL, argv);
    } catch (const std::exception& error) {
        int rank = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        if (rank == 0) fmt::print(stderr, "diskless_wilson: {}\n", error.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
