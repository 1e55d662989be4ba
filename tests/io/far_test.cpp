// SPDX-License-Identifier: BSD-3-Clause
// Independent accesses of ranks that do not reach the file, through the rank that does, in whole
// jobs: random views and calls against a model of the file, several ranks at a time.
#include <catch2/catch.hpp>

#include <cerrno>
#include <functional>

#include "collectives/simulated_group.h"
#include "core/link/cable_faults.h"
#include "io/access.h"
#include "io/far_store.h"
#include "io/memory_store.h"
#include "io/programs.h"
#include "io/random_view.h"
#include "io/store_server.h"

namespace torusmp::io::far_test {

using namespace testing;
using collectives::testing::Job;
using collectives::testing::job_of;
using collectives::testing::JobOptions;
using core::testing::CableFaults;

constexpr core::Context context = 5;

class TestedStore final : public FarStore {
  public:
    TestedStore(core::Runtime& runtime, core::Rank server, Programs*& programs)
        : FarStore(runtime, context, server, [] { return std::string_view("test"); }),
          programs_(programs) {}

  private:
    void wait(const std::function<bool()>& done, const core::Awaited&) override {
        programs_->wait(done);
    }
    Programs*& programs_;
};

// A file in the memory of one rank, and how each rank reaches it.
struct Scene {
    Hints hints;
    MemoryStore file;
    Job job;
    core::Rank disk;
    StoreServer server;
    Programs* programs = nullptr;
    std::vector<std::unique_ptr<TestedStore>> far;
    std::optional<CableFaults> cables;

    Scene(const JobOptions& options, core::Rank host)
        : job(options), disk(host), server(job[host], context, file, hints) {
        for (core::Rank rank = 0; rank < job.size(); ++rank)
            far.push_back(std::make_unique<TestedStore>(job[rank], disk, programs));
    }
    Store& of(core::Rank rank) {
        if (rank == disk) return file;
        return *far[std::size_t(rank)];
    }
    // Runs program(rank) on every rank.
    void run(Random& random, const std::function<void(core::Rank)>& program) {
        Programs all;
        programs = &all;
        for (core::Rank rank = 0; rank < job.size(); ++rank)
            all.add([&program, rank] { program(rank); });
        REQUIRE(all.run_all(job, random, cables ? &*cables : nullptr));
        job.settle();  // the last answers, before the server ends
    }
};

JobOptions random_job(Random& random) {
    static const std::vector<std::vector<int>> shapes{{2}, {3}, {2, 2}, {3, 2}, {2, 2, 2}};
    JobOptions options = job_of(shapes[below(random, shapes.size())], below(random, 2) == 0,
                                1 + below(random, 1000));
    options.eager_limit = below(random, 2) == 0 ? 64 : 2048;
    return options;
}

// Memory that is one piece, or blocks with gaps.
struct Memory {
    std::vector<std::byte> bytes;
    std::optional<core::Layout> layout;

    Memory(Random& random, std::size_t count, std::byte filler) {
        const std::size_t block = 1 + below(random, 50);
        if (below(random, 2) == 0 || count < 2 * block) {
            bytes.assign(count, filler);
            return;
        }
        const std::size_t gap = 1 + below(random, 20);
        std::vector<core::Layout::Run> runs{{0, block, count / block, std::ptrdiff_t(block + gap)}};
        if (count % block != 0)
            runs.push_back({std::ptrdiff_t(count / block * (block + gap)), count % block, 1, 0});
        layout.emplace(runs);
        bytes.assign((count / block + 1) * (block + gap), filler);
    }
    core::Buffer buffer() {
        if (layout) return {static_cast<void*>(bytes.data()), *layout};
        return {static_cast<void*>(bytes.data()), bytes.size()};
    }
};

// One rank after the other: everything that the file says is known.
void one_access(Scene& scene, Random& random, core::Rank rank, std::vector<std::byte>& model) {
    const std::size_t bytes = 1 + below(random, below(random, 4) == 0 ? 20'000 : 600);
    const std::size_t position = below(random, 300);
    const ModelledView view = random_view(random, position + bytes);
    const bool writes = below(random, 2) == 0;
    Memory memory(random, bytes, std::byte{0xee});
    std::vector<std::byte> stream(bytes);
    std::size_t wanted = bytes;
    for (std::size_t i = 0; i < bytes; ++i) {
        const auto at = std::size_t(view.offsets[position + i]);
        if (writes) {
            stream[i] = std::byte(random());
            if (model.size() <= at) model.resize(at + 1);
            model[at] = stream[i];
        } else if (at >= model.size()) {
            wanted = i;
            break;
        } else {
            stream[i] = model[at];
        }
    }
    Store& store = scene.of(rank);
    if (writes) {
        memory.buffer().unpack(0, stream.data(), bytes);
        const Outcome done = write(store, view.view, Offset(position), memory.buffer());
        REQUIRE(done.error == 0);
        REQUIRE(done.bytes == bytes);
        return;
    }
    const Outcome done = read(store, view.view, Offset(position), memory.buffer(), scene.hints);
    REQUIRE(done.error == 0);
    REQUIRE(done.bytes == wanted);
    std::vector<std::byte> got(bytes);
    memory.buffer().pack(0, got.data(), bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        REQUIRE(got[i] == (i < wanted ? stream[i] : std::byte{0xee}));
}

std::uint64_t rounds() {
    const char* const given = std::getenv("IO_ROUNDS");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : 60;
}

TEST_CASE("Ranks that do not reach a file read and write like the model", "[io]") {
    const bool faults = GENERATE(false, true);
    long cuts = 0;
    for (std::uint64_t seed = 1; seed <= rounds(); ++seed) {
        CAPTURE(seed, faults);
        Random random(seed);
        JobOptions options = random_job(random);
        if (faults) options = core::testing::detour_torus(options.dims, seed);
        Scene scene(options, core::Rank(below(random, 2)));
        if (faults) scene.cables.emplace(scene.job, seed);
        std::vector<std::byte> model;
        int turns = 0;
        // In an order that all know.
        std::vector<core::Rank> order(20);
        for (auto& rank : order) rank = core::Rank(below(random, std::size_t(scene.job.size())));
        scene.run(random, [&](core::Rank rank) {
            for (std::size_t turn = 0; turn < order.size(); ++turn) {
                if (order[turn] != rank) continue;
                scene.programs->wait([&] { return turns == int(turn); });
                one_access(scene, random, rank, model);
                ++turns;
            }
        });
        REQUIRE(scene.file.bytes == model);
        if (faults) cuts += scene.cables->cuts();
    }
    if (faults) REQUIRE(cuts >= long(rounds()));
}

TEST_CASE("Ranks that do not reach a file write at the same time", "[io]") {
    for (std::uint64_t seed = 1; seed <= rounds() / 2; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const JobOptions options = random_job(random);
        Scene scene(options, 0);
        const auto ranks = std::size_t(scene.job.size());
        const std::size_t row = 1 + below(random, 90), bytes = 1 + below(random, 9'000);
        const auto tile = std::make_shared<const core::Layout>(core::Shape::block(row),
                                                               std::ptrdiff_t(row * ranks));
        scene.run(random, [&](core::Rank rank) {
            const View view(Offset(std::size_t(rank) * row), tile);
            std::vector<std::byte> data(bytes, std::byte(rank + 1)), back(bytes);
            Store& store = scene.of(rank);
            REQUIRE(write(store, view, 0, {data.data(), bytes}).bytes == bytes);
            REQUIRE(read(store, view, 0, {back.data(), bytes}, scene.hints).bytes == bytes);
            REQUIRE(back == data);
        });
        for (std::size_t rank = 0; rank < ranks; ++rank)
            for (std::size_t i = 0; i < bytes; ++i)
                REQUIRE(scene.file.bytes[(i / row * ranks + rank) * row + i % row] ==
                        std::byte(rank + 1));
    }
}

TEST_CASE("Sizes, allocations and failures are reported to ranks that do not reach the file",
          "[io]") {
    Random random(3);
    Scene scene(job_of({3}, false), 1);
    scene.run(random, [&](core::Rank rank) {
        if (rank != 0) return;
        Store& store = scene.of(0);
        REQUIRE(store.size() == 0);
        REQUIRE(store.resize(5'000) == 0);
        REQUIRE(store.size() == 5'000);
        REQUIRE(store.reserve(6'000) == 0);
        REQUIRE(store.flush() == 0);
        scene.file.write_error = ENOSPC;
        const std::vector<std::byte> data(9'000'000);
        const Outcome failed = store.write(data.data(), data.size(), 3);
        REQUIRE(failed.error == ENOSPC);
        REQUIRE(failed.bytes == 0);
        scene.file.write_error = 0;
        const Outcome whole = store.write(data.data(), data.size(), 3);
        REQUIRE(whole.error == 0);
        REQUIRE(whole.bytes == data.size());
        REQUIRE(store.size() == 9'000'003);
    });
}

// Each writes the range in two calls: without locks they mix.
TEST_CASE("The serving rank locks ranges for all ranks", "[io]") {
    for (std::uint64_t seed = 1; seed <= rounds() / 2; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const JobOptions options = random_job(random);
        Scene scene(options, 0);
        int mixed = 0;
        scene.run(random, [&](core::Rank rank) {
            if (rank == scene.disk) return;
            Store& store = scene.of(rank);
            std::vector<std::byte> data(400, std::byte(rank));
            for (int turn = 0; turn < 3; ++turn) {
                const RangeLock lock(store, 0, 800, false);
                REQUIRE(lock.error() == 0);
                REQUIRE(store.write(data.data(), 400, 0).error == 0);
                REQUIRE(store.write(data.data(), 400, 400).error == 0);
                std::vector<std::byte> back(800);
                REQUIRE(store.read(back.data(), 800, 0).bytes == 800);
                for (const std::byte byte : back) mixed += byte == std::byte(rank) ? 0 : 1;
            }
        });
        REQUIRE(mixed == 0);
    }
}

TEST_CASE("A rank that sends an invalid request gets an error, or is dropped as a peer", "[io]") {
    Scene scene(job_of({2}, true), 0);
    const auto bytes_of = [](const far::Note& note, std::size_t runs) {
        return transport::ConstBytes(reinterpret_cast<const std::byte*>(&note),
                                     sizeof(far::Question) + runs * sizeof(Run));
    };
    far::Note note{};
    note.question = {0, far::Operation::read, 1, 0, 8};
    note.first[0] = {0, 8, 1, 0};
    REQUIRE_FALSE(scene.server.on_note(1, 2, bytes_of(note, 1)));
    REQUIRE_FALSE(scene.server.on_note(1, far::note_tag, bytes_of(note, 0)));
    REQUIRE_FALSE(scene.server.on_note(1, far::note_tag, bytes_of(note, 1).first(7)));
    note.question.bytes = std::int64_t(far::longest) + 1;
    REQUIRE_FALSE(scene.server.on_note(1, far::note_tag, bytes_of(note, 1)));
    note.question.bytes = 8;
    note.question.operation = far::Operation(77);
    REQUIRE_FALSE(scene.server.on_note(1, far::note_tag, bytes_of(note, 1)));
    // A list that does not fit the data.
    note.question.operation = far::Operation::read;
    note.first[0] = {0, std::int64_t(1) << 62, 4, std::int64_t(1) << 62};
    core::ReceiveRequest answered, contents;
    far::Answer answer{};
    std::byte data[8];
    scene.job[1].receive(answered, {static_cast<void*>(&answer), sizeof answer}, 0, context,
                         far::tag_of(0, far::Stream::answer));
    scene.job[1].receive(contents, {static_cast<void*>(data), 8}, 0, context,
                         far::tag_of(0, far::Stream::contents));
    scene.job[1].notes().send(0, context, far::note_tag, bytes_of(note, 1));
    REQUIRE(scene.job.run_until([&] { return answered.complete() && contents.complete(); }));
    REQUIRE(answer.error == EINVAL);
}

}  // namespace torusmp::io::far_test
