// SPDX-License-Identifier: BSD-3-Clause
// Matching by context, source and tag against a model that searches plain lists.
//
// If all ranks settle after each call, messages arrive in the order of the calls and the model
// determines the message of each receive. If they do not settle, but each receive names its source,
// the outcome does not depend on delays, because both sides keep their order. With wildcards for
// the source and messages under way, only the order itself can be checked.

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <list>
#include <map>
#include <optional>

#include "job.h"

using namespace torusmp::core;
using namespace torusmp::core::testing;

namespace matching_test {
namespace {

struct Message {
    int number = 0;
    Rank from = 0;
    Rank to = 0;
    Context context = 0;
    Tag tag = 0;
    std::vector<std::byte> bytes;
    SendRequest request;
};

struct Receive {
    int number = 0;
    Rank on = 0;
    Rank source = 0;
    Context context = 0;
    Tag tag = 0;
    std::vector<std::byte> room;
    ReceiveRequest request;
    std::optional<int> expected{};  // the message that the model gives it

    bool takes(const Message& message) const {
        return message.to == on && message.context == context &&
               (source == any_source || source == message.from) &&
               (tag == any_tag || tag == message.tag);
    }
};

constexpr std::size_t most_bytes = 700;

// Messages begin with their number, so that a receive shows which one it got.
class Match {
  public:
    explicit Match(const JobOptions& options) : job_(std::make_unique<Job>(options)) {}

    Job& job() { return *job_; }

    void send(Rank from, Rank to, Context context, Tag tag, std::size_t bytes) {
        const int number = int(messages.size());
        Message& message = messages.emplace_back();
        message.number = number;
        message.from = from;
        message.to = to;
        message.context = context;
        message.tag = tag;
        message.bytes.resize(bytes + 4);
        fill(message.bytes.data(), message.bytes.size(), std::uint64_t(number));
        std::memcpy(message.bytes.data(), &number, 4);
        // Every other one by the short way, if that is open.
        if (number % 2 == 0 || !(*job_)[from].send_at_once(message.bytes, to, context, tag))
            (*job_)[from].send(message.request, Buffer(message.bytes.data(), message.bytes.size()),
                               to, context, tag);
        // The model: the oldest open receive that takes it.
        for (auto open = posted_.begin(); open != posted_.end(); ++open)
            if ((*open)->takes(message)) {
                (*open)->expected = number;
                posted_.erase(open);
                return;
            }
        unexpected_.push_back(&message);
    }

    void receive(Rank on, Rank source, Context context, Tag tag) {
        Receive& receive = receives.emplace_back();
        receive.number = int(receives.size()) - 1;
        receive.on = on;
        receive.source = source;
        receive.context = context;
        receive.tag = tag;
        receive.room.resize(most_bytes + 4);
        if (receive.number % 2 == 0)
            (*job_)[on].receive_block(receive.request, receive.room, source, context, tag);
        else
            (*job_)[on].receive(receive.request, Buffer(receive.room.data(), receive.room.size()),
                                source, context, tag);
        for (auto kept = unexpected_.begin(); kept != unexpected_.end(); ++kept)
            if (receive.takes(**kept)) {
                receive.expected = (*kept)->number;
                unexpected_.erase(kept);
                return;
            }
        posted_.push_back(&receive);
    }

    // The number of the message that the receive got, checked for its bytes and status.
    std::optional<int> got(const Receive& receive) const {
        if (!receive.request.complete()) return std::nullopt;
        const Status& status = receive.request.status();
        REQUIRE(status.error == Error::none);
        int number = -1;
        std::memcpy(&number, receive.room.data(), 4);
        REQUIRE(number >= 0);
        REQUIRE(std::size_t(number) < messages.size());
        const Message& message = messages[std::size_t(number)];
        REQUIRE(receive.takes(message));
        REQUIRE(status.source == message.from);
        REQUIRE(status.tag == message.tag);
        REQUIRE(status.bytes == message.bytes.size());
        REQUIRE(std::equal(message.bytes.begin(), message.bytes.end(), receive.room.begin()));
        return number;
    }

    void check_against_model() const {
        for (const Receive& receive : receives) {
            CAPTURE(receive.number, receive.on, receive.source, receive.context, receive.tag);
            REQUIRE(got(receive) == receive.expected);
        }
    }

    std::deque<Message> messages;
    std::deque<Receive> receives;

  private:
    std::list<Receive*> posted_;
    std::list<Message*> unexpected_;
    std::unique_ptr<Job> job_;  // last: gone before the requests
};

JobOptions small_job(std::vector<int> dims, std::uint64_t seed) {
    JobOptions options;
    options.dims = std::move(dims);
    options.seed = seed;
    options.eager_limit = 256;
    options.credits = 4;
    options.relay_credits = 2;
    return options;
}

std::size_t some_bytes(sim::Random& random) {
    return std::size_t(random.below(random.below(3) == 0 ? most_bytes : 40));
}

}  // namespace

TEST_CASE("messages match as in the model if all ranks settle after each call",
          "[core][matching]") {
    const std::uint64_t seed = GENERATE(range(1, 9));
    CAPTURE(seed);
    Match match(small_job(seed % 2 == 0 ? std::vector{2, 2} : std::vector{3}, seed));
    sim::Random random(seed);
    const auto ranks = std::uint64_t(match.job().size());
    for (int i = 0; i < 400; ++i) {
        const Context context = Context(random.below(2));
        const Tag tag = Tag(random.below(3));
        if (random.below(2) == 0)
            match.send(Rank(random.below(ranks)), Rank(random.below(2)), context, tag,
                       some_bytes(random));
        else
            match.receive(Rank(random.below(2)),
                          random.below(3) == 0 ? any_source : Rank(random.below(ranks)), context,
                          random.below(3) == 0 ? any_tag : tag);
        match.job().settle();
        if (i % 50 == 0) match.check_against_model();
    }
    match.check_against_model();
}

TEST_CASE("messages match as in the model with all delays if receives name their source",
          "[core][matching]") {
    const std::uint64_t seed = GENERATE(range(20, 40));
    CAPTURE(seed);
    JobOptions options = small_job(seed % 2 == 0 ? std::vector{2, 2} : std::vector{4}, seed);
    options.world.write = sim::Remote(seed % 4);
    options.world.read = sim::Remote(seed / 2 % 4);
    options.world.separate_links = seed % 2 == 0;
    options.direct = seed % 3 == 0;
    options.world.mapped = options.world.all_mapped = seed % 6 == 0;
    Match match(options);
    sim::Random random(seed);
    const auto ranks = std::uint64_t(match.job().size());
    for (int i = 0; i < 1500; ++i) {
        const Context context = Context(random.below(2));
        const Tag tag = Tag(random.below(3));
        const Rank on = Rank(random.below(2));
        const Rank from = Rank(random.below(ranks));
        if (random.below(2) == 0)
            match.send(from, on, context, tag, some_bytes(random));
        else
            match.receive(on, from, context, random.below(3) == 0 ? any_tag : tag);
        for (auto turns = random.below(4); turns > 0; --turns) match.job().turn();
    }
    match.job().settle();
    match.check_against_model();
}

TEST_CASE("messages of one pair keep their order under wildcards for the source",
          "[core][matching]") {
    const std::uint64_t seed = GENERATE(range(50, 62));
    CAPTURE(seed);
    Match match(small_job({2, 3}, seed));
    sim::Random random(seed);
    const auto ranks = std::uint64_t(match.job().size());
    for (int i = 0; i < 1000; ++i) {
        if (random.below(2) == 0)
            match.send(Rank(random.below(ranks)), 0, 5, Tag(random.below(3)), some_bytes(random));
        else
            match.receive(0, random.below(2) == 0 ? any_source : Rank(random.below(ranks)), 5,
                          random.below(2) == 0 ? any_tag : Tag(random.below(3)));
        for (auto turns = random.below(4); turns > 0; --turns) match.job().turn();
    }
    match.job().settle();
    // Enough receives for whatever is left over.
    for (std::size_t i = 0; i < match.messages.size(); ++i)
        match.receive(0, any_source, 5, any_tag);
    match.job().settle();

    std::map<int, int> receive_of;
    for (const Receive& receive : match.receives)
        if (const auto number = match.got(receive)) {
            REQUIRE(receive_of.count(*number) == 0);
            receive_of[*number] = receive.number;
        }
    REQUIRE(receive_of.size() == match.messages.size());
    // A later message of the same source took a receive that an earlier one could have had: then
    // the earlier one had gone to a receive that was older still.
    for (std::size_t later = 0; later < match.messages.size(); ++later)
        for (std::size_t earlier = 0; earlier < later; ++earlier) {
            const Message& a = match.messages[earlier];
            const Message& b = match.messages[later];
            if (a.from != b.from) continue;
            const int of_b = receive_of[int(later)];
            if (!match.receives[std::size_t(of_b)].takes(a)) continue;
            if (receive_of[int(earlier)] < of_b) continue;
            FAIL("messages " << earlier << " and " << later << " of rank " << a.from
                             << " overtook each other");
        }
}

TEST_CASE("matching stays right with thousands of entries in the queues", "[core][matching]") {
    const bool receives_first = GENERATE(true, false);
    Match match(small_job({2}, 3));
    sim::Random random(9);
    constexpr int count = 6000;
    std::vector<Tag> tags;
    for (int i = 0; i < count; ++i) tags.push_back(Tag(random.below(count / 2)));
    std::vector<Tag> shuffled = tags;
    for (std::size_t i = shuffled.size(); i > 1; --i)
        std::swap(shuffled[i - 1], shuffled[std::size_t(random.below(i))]);
    const auto send_all = [&] {
        for (const Tag tag : tags) {
            match.send(1, 0, 0, tag, 8);
            match.job().turn();
        }
        match.job().settle();
    };
    const auto receive_all = [&] {
        for (const Tag tag : shuffled)
            match.receive(0, random.below(2) == 0 ? 1 : any_source, 0, tag);
    };
    if (receives_first) receive_all();
    send_all();
    if (!receives_first) receive_all();
    match.job().settle();
    match.check_against_model();
    REQUIRE(std::all_of(match.receives.begin(), match.receives.end(),
                        [](const Receive& r) { return r.expected.has_value(); }));
}

TEST_CASE("probe finds the first message that such a receive would match, and does not take it",
          "[core][matching]") {
    Match match(small_job({2}, 4));
    Runtime& here = match.job()[0];
    REQUIRE_FALSE(here.probe(any_source, 0, any_tag));
    match.send(1, 0, 0, 4, 10);
    match.send(1, 0, 0, 5, 500);
    match.send(1, 0, 1, 6, 0);
    match.job().settle();
    for (int twice = 0; twice < 2; ++twice) {
        const auto first = here.probe(any_source, 0, any_tag);
        REQUIRE(first);
        REQUIRE(first->source == 1);
        REQUIRE(first->tag == 4);
        REQUIRE(first->bytes == 14);
        const auto large = here.probe(1, 0, 5);
        REQUIRE(large);
        REQUIRE(large->bytes == 504);
        REQUIRE_FALSE(here.probe(1, 0, 6));
        REQUIRE_FALSE(here.probe(0, 0, any_tag));
        REQUIRE(here.probe(1, 1, any_tag));
    }
    match.receive(0, any_source, 0, any_tag);
    match.job().settle();
    match.check_against_model();
    REQUIRE(here.probe(any_source, 0, any_tag)->tag == 5);
}

TEST_CASE("a claimed message arrives in the receive that takes it, and in no other",
          "[core][matching]") {
    const std::size_t bytes = GENERATE(std::size_t(4), std::size_t(5000));
    CAPTURE(bytes);
    std::vector<std::byte> out(bytes), taken(bytes), other(bytes);
    fill(out.data(), bytes, 1);
    SendRequest first, second;
    ReceiveRequest claims, posted;
    JobOptions options;
    options.dims = {2};
    Job job(options);
    job[1].send(first, Buffer(out.data(), bytes), 0, 5, 7);
    job.settle();
    Unexpected* const message = job[0].claim(any_source, 5, any_tag);
    REQUIRE(message != nullptr);
    CHECK_FALSE(job[0].probe(any_source, 5, any_tag));
    job[0].receive(posted, Buffer(other.data(), bytes), 1, 5, 7);
    job.settle();
    CHECK_FALSE(posted.complete());
    job[0].receive(claims, Buffer(taken.data(), bytes), *message);
    job.settle();
    REQUIRE(claims.complete());
    CHECK(claims.status().error == Error::none);
    CHECK(claims.status().source == 1);
    CHECK(claims.status().tag == 7);
    CHECK(claims.status().bytes == bytes);
    CHECK(taken == out);
    CHECK_FALSE(posted.complete());
    job[1].send(second, Buffer(out.data(), bytes), 0, 5, 7);
    job.settle();
    CHECK(posted.complete());
    CHECK(other == out);
}

}  // namespace matching_test
