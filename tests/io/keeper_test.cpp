// SPDX-License-Identifier: BSD-3-Clause
// Files that a rank keeps for groups without a member on its host, in whole jobs.
#include <catch2/catch.hpp>

#include <fcntl.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "io/keeper_client.h"
#include "io/outside_keeper.h"
#include "io/programs.h"

namespace torusmp::io::keeper_test {

using collectives::testing::Job;
using collectives::testing::job_of;
using namespace io::testing;

constexpr core::Context calls = 3;

// A client whose waits let the other programs run.
template <class Client>
class Tested final : public Client {
  public:
    template <class... Arguments>
    explicit Tested(Programs& programs, Arguments&&... arguments)
        : Client(std::forward<Arguments>(arguments)..., [] { return std::string_view("test"); }),
          programs_(programs) {}

  private:
    void wait(const std::function<bool()>& done, const core::Awaited&) override {
        programs_.wait(done);
    }
    Programs& programs_;
};

struct Folder {
    std::string path = "/tmp/torusmp_keeper_XXXXXX";
    Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    ~Folder() { std::filesystem::remove_all(path); }
    std::string file(int number) const { return path + "/" + std::to_string(number); }
};

std::string contents_of(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

std::unique_ptr<OutsideKeeper> keeper_on(Job& job, core::Rank rank) {
    return std::make_unique<OutsideKeeper>(
        job[rank], calls, [](const std::string& path) { return look_at(path, {}, "disk"); });
}

constexpr int all_flags = O_RDWR | O_CREAT | O_EXCL;

TEST_CASE("Ranks use files of a host where their group has no member", "[io]") {
    const bool links = GENERATE(false, true);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        CAPTURE(links, seed);
        Random random(seed);
        const Folder folder;
        auto options = job_of({2, 3}, !links, seed);
        options.eager_limit = 64;  // calls are longer, with their paths
        Job job(options);
        // It begins when calls have come.
        std::unique_ptr<OutsideKeeper> keeper;
        Programs all;
        for (core::Rank rank = 1; rank < job.size(); ++rank)
            all.add([&, rank] {
                Tested<KeeperClient> client(all, job[rank], calls, 0);
                const std::string path = folder.file(rank);
                const auto context = core::Context(100 + rank);
                const auto sight = client.look(path);
                REQUIRE(sight);
                REQUIRE(sight->host_name() == "disk");
                REQUIRE(sight->folder != 0);
                REQUIRE(sight->file == 0);
                REQUIRE(client.remove(path) == ENOENT);
                REQUIRE(client.open(path, O_RDONLY, context, {}) == ENOENT);
                REQUIRE(client.close(context) == EBADF);
                REQUIRE(client.open(path, all_flags, context, {}) == 0);
                REQUIRE(client.open(path, all_flags, context + 50, {}) == EEXIST);
                REQUIRE(client.open(path, O_RDWR, context, {}) == EBUSY);
                Tested<FarStore> store(all, job[rank], context, 0);
                const std::string text(5000 + std::size_t(rank), char('a' + rank));
                REQUIRE(store.write(reinterpret_cast<const std::byte*>(text.data()), text.size(), 7)
                            .error == 0);
                REQUIRE(store.size() == Offset(text.size()) + 7);
                REQUIRE(store.lock(0, 10, false) == 0);
                REQUIRE(client.close(context) == 0);
                REQUIRE(client.close(context) == EBADF);
                REQUIRE(contents_of(path) == std::string(7, '\0') + text);
                REQUIRE(client.open(path, O_RDWR, context, {}) == 0);
                REQUIRE(client.close(context) == 0);
                REQUIRE(client.remove(path) == 0);
                REQUIRE_FALSE(std::filesystem::exists(path));
            });
        all.add([&] {
            for (int turn = 0; turn < 50; ++turn)
                all.wait([turns = 0]() mutable { return ++turns > 1; });
            keeper = keeper_on(job, 0);
        });
        REQUIRE(all.run_all(job, random, nullptr));
        job.settle();
        REQUIRE(job.quiet());
    }
}

TEST_CASE("A name that is too long is refused, and impossible calls end the connection", "[io]") {
    Job job(job_of({2}, true));
    const auto keeper = keeper_on(job, 0);
    Random random(1);
    Programs all;
    all.add([&] {
        Tested<KeeperClient> client(all, job[1], calls, 0);
        REQUIRE_FALSE(client.look(std::string(5000, 'x')));
        REQUIRE(client.open(std::string(5000, 'x'), O_RDWR, 100, {}) == ENAMETOOLONG);
        REQUIRE(client.open(std::string(4000, 'x'), O_RDWR, 100, {}) == ENAMETOOLONG);
    });
    REQUIRE(all.run_all(job, random, nullptr));
    const std::byte one{1};
    REQUIRE_FALSE(keeper->on_note(1, 7, {}));
    REQUIRE_FALSE(keeper->on_note(1, keeper_call::note_tag, {&one, 1}));
}

TEST_CASE("A file whose users die is closed by those that live", "[io]") {
    const Folder folder;
    Job job(job_of({2, 2}, true));
    const auto keeper = keeper_on(job, 0);
    Random random(1);
    bool held = false;
    {
        Programs all;
        all.add([&] {
            Tested<KeeperClient> client(all, job[1], calls, 0);
            REQUIRE(client.open(folder.file(1), all_flags, 100, {}) == 0);
            Tested<FarStore> store(all, job[1], 100, 0);
            REQUIRE(store.lock(0, 10, false) == 0);
            held = true;
        });
        REQUIRE(all.run_all(job, random, nullptr));
    }
    REQUIRE(held);
    job.kill(1);
    job.settle();
    Programs all;
    all.add([&] {
        Tested<KeeperClient> client(all, job[2], calls, 0);
        REQUIRE(client.close(100) == 0);
        Tested<KeeperClient> dead(all, job[2], calls, 1);
        REQUIRE_FALSE(dead.look(folder.file(1)));
        REQUIRE(dead.open(folder.file(1), O_RDWR, 100, {}) == EHOSTDOWN);
    });
    REQUIRE(all.run_all(job, random, nullptr));
    job.settle();
}

}  // namespace torusmp::io::keeper_test
