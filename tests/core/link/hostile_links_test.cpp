// SPDX-License-Identifier: BSD-3-Clause
// Impossible reports of a rank about links and detours: they are refused with the rank's number,
// and no message is lost silently, arrives twice or arrives elsewhere.

#include <catch2/catch.hpp>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/link/frames.h"
#include "core/link/link_states.h"
#include "core/traffic.h"
#include "routing/detours.h"

namespace hostile_links_test {

using namespace torusmp;
using namespace torusmp::core;
using namespace torusmp::core::testing;
using transport::PacketHeader;

namespace {

constexpr int dimensions = 2;
constexpr Rank end = 0;
constexpr routing::Direction direction{0, +1};

bool is_link_frame(const PacketHeader& header, LinkFrame kind) {
    return header.virtual_channel >= dimensions && header.kind == std::uint8_t(kind);
}

template <class Body>
Body body_of(const std::vector<std::byte>& payload) {
    Body body;
    std::memcpy(&body, payload.data(), sizeof body);
    return body;
}
template <class Body>
void put(std::vector<std::byte>& payload, const Body& body) {
    std::memcpy(payload.data(), &body, sizeof body);
}

struct Forgery {
    const char* what;
    LinkFrame kind;
    // False: not this one.
    std::function<bool(PacketHeader&, std::vector<std::byte>&)> forge;
    const char* named;  // in what the ranks say about it
};

template <class Body>
auto body_changed(std::function<void(Body&)> change) {
    return [change](PacketHeader&, std::vector<std::byte>& payload) {
        Body body = body_of<Body>(payload);
        change(body);
        put(payload, body);
        return true;
    };
}

// The first one of an end under a state once more, when a later one is on its way before it.
template <class Body>
auto again(
    std::function<bool(const Body&, const Body&)> is_later,
    std::function<std::uint64_t(const Body&)> state = [](const Body&) { return 0; }) {
    struct Heard {
        Body first, last;
    };
    using End = std::tuple<std::uint32_t, std::int32_t, std::uint64_t>;
    auto heard = std::make_shared<std::map<End, Heard>>();
    return [=](PacketHeader& header, std::vector<std::byte>& payload) {
        if (header.hops != 0) return false;  // relayed: a later one may be behind it
        const auto now = body_of<Body>(payload);
        const End end{header.source, header.tag, state(now)};
        auto& before = heard->try_emplace(end, Heard{now, now}).first->second;
        const bool comes_again = is_later(before.first, before.last);
        before.last = now;
        if (comes_again) put(payload, before.first);
        return comes_again;
    };
}

std::vector<Forgery> forgeries() {
    static std::optional<std::pair<PacketHeader, std::vector<std::byte>>> recorded;
    recorded.reset();
    const char* const frame = "an invalid frame arrived over its detour";
    const char* const control = "a packet about links";
    std::vector<Forgery> all;
    all.push_back({"a frame that comes again", LinkFrame::detour,
                   [](PacketHeader& header, std::vector<std::byte>& payload) {
                       if (!recorded) {
                           recorded.emplace(header, payload);
                           return false;
                       }
                       if (recorded->first.source != header.source ||
                           recorded->first.sequence == header.sequence ||
                           body_of<DetourBody>(payload).state !=
                               body_of<DetourBody>(recorded->second).state)
                           return false;
                       header.sequence = recorded->first.sequence;
                       payload = recorded->second;
                       return true;
                   },
                   frame});
    all.push_back({"a frame out of the row", LinkFrame::detour,
                   [](PacketHeader& header, std::vector<std::byte>&) {
                       header.sequence += 1000;
                       return true;
                   },
                   frame});
    all.push_back({"a frame of an unknown kind", LinkFrame::detour,
                   body_changed<DetourBody>([](DetourBody& it) { it.content = Detoured(7); }),
                   frame});
    all.push_back({"credits that were never spent", LinkFrame::detour,
                   body_changed<DetourBody>([](DetourBody& it) { it.granted += 100; }), frame});
    all.push_back({"confirmed writes that were never made", LinkFrame::detour,
                   body_changed<DetourBody>([](DetourBody& it) { it.notices += 1000; }), frame});
    all.push_back({"a packet longer than its frame", LinkFrame::detour,
                   [](PacketHeader&, std::vector<std::byte>& payload) {
                       if (body_of<DetourBody>(payload).content != Detoured::packet) return false;
                       payload.pop_back();
                       return true;
                   },
                   frame});
    all.push_back({"a frame that is cut short", LinkFrame::detour,
                   [](PacketHeader&, std::vector<std::byte>& payload) {
                       payload.resize(4);
                       return true;
                   },
                   "a truncated frame of a detour"});
    all.push_back({"a frame on another way than its detour", LinkFrame::detour,
                   [](PacketHeader& header, std::vector<std::byte>&) {
                       header.tag = header.tag == 2 ? 3 : 2;
                       return true;
                   },
                   "does not pass through this rank"});
    all.push_back({"confirmed packets that were never sent", LinkFrame::setup,
                   body_changed<SetupBody>([](SetupBody& it) { it.taken += 100; }), control});
    all.push_back({"a setup that confirms writes that were never made", LinkFrame::setup,
                   body_changed<SetupBody>([](SetupBody& it) { it.notices += 1000; }), control});
    all.push_back({"a setup for another link's cable", LinkFrame::setup,
                   [](PacketHeader& header, std::vector<std::byte>& payload) {
                       auto body = body_of<SetupBody>(payload);
                       if (body.by_cable != 0) return false;
                       body.by_cable = 1;
                       put(payload, body);
                       return header.source == std::uint32_t(end);
                   },
                   control});
    all.push_back({"news of a link that there is not", LinkFrame::news,
                   body_changed<NewsBody>([](NewsBody& it) { it.rank = 1'000'000; }), control});
    all.push_back({"news cut short", LinkFrame::news,
                   [](PacketHeader&, std::vector<std::byte>& payload) {
                       payload.pop_back();
                       return true;
                   },
                   control});
    all.push_back({"news in another rank's name", LinkFrame::news,
                   [](PacketHeader& header, std::vector<std::byte>&) {
                       header.source = (header.source + 1) % 12;
                       return true;
                   },
                   control});
    all.push_back({"a confirmation of writes that were never made", LinkFrame::confirm,
                   body_changed<ConfirmBody>([](ConfirmBody& it) { it.notices += 1000; }),
                   control});
    all.push_back({"a confirmation that comes again", LinkFrame::confirm,
                   again<ConfirmBody>([](const ConfirmBody& before, const ConfirmBody& now) {
                       return before.notices != now.notices;
                   }),
                   control});
    all.push_back({"credits that have come home before", LinkFrame::detour,
                   [old = again<DetourBody>(
                        [](const DetourBody& before, const DetourBody& now) {
                            return before.granted != now.granted;
                        },
                        [](const DetourBody& it) { return it.state; })](
                       PacketHeader& header, std::vector<std::byte>& payload) {
                       const auto now = body_of<DetourBody>(payload);
                       if (!old(header, payload)) return false;
                       auto body = body_of<DetourBody>(payload);
                       body.notices = now.notices;
                       body.content = now.content;
                       put(payload, body);
                       return true;
                   },
                   frame});
    all.push_back({"a packet about links of a kind that there is not", LinkFrame::news,
                   [](PacketHeader& header, std::vector<std::byte>&) {
                       header.kind = 0x7f;
                       return true;
                   },
                   control});
    all.push_back({"a setup that comes another way", LinkFrame::setup,
                   [](PacketHeader& header, std::vector<std::byte>& payload) {
                       // As if it were the setup of the other direction, from its other end.
                       if (body_of<SetupBody>(payload).by_cable != 0 ||
                           header.source != std::uint32_t(end))
                           return false;
                       std::swap(header.source, header.destination);
                       header.tag ^= 1;
                       return true;
                   },
                   control});
    return all;
}

// A cable dies meanwhile, and comes back.
void run_among_faults(Traffic& traffic, std::uint64_t messages) {
    bool cut = false, mended = false;
    while (traffic.arrived() < messages && traffic.failure().empty()) {
        if (!cut && traffic.arrived() > 50) cut = traffic.job().cut_link(end, direction);
        if (cut && !mended && traffic.arrived() > 200) {
            traffic.job().revive_link(end, direction);
            mended = true;
        }
        if (!traffic.step()) break;
    }
}

}  // namespace

TEST_CASE("impossible reports about links are refused, and the rank is named", "[core][detour]") {
    const std::size_t which = GENERATE(range(0, 19));
    const std::uint64_t seed = GENERATE(range(1, 5));
    const std::vector<Forgery> all = forgeries();
    REQUIRE(all.size() == 19);
    const Forgery& forgery = all[which];
    CAPTURE(seed, forgery.what);
    TrafficOptions traffic_options;
    traffic_options.messages = forgery.kind == LinkFrame::confirm ? 3200 : 400;
    Traffic traffic(detour_torus({4, 3}, seed), traffic_options);
    traffic.expect_enemies();
    Job& job = traffic.job();
    int forged = 0;
    job.world().set_interposer(
        [&](std::size_t, PacketHeader& header, std::vector<std::byte>& payload) {
            if (forged == 0 && is_link_frame(header, forgery.kind))
                forged += forgery.forge(header, payload);
        });
    run_among_faults(traffic, traffic_options.messages);
    INFO(traffic.stuck());
    REQUIRE(traffic.failure() == "");
    REQUIRE(traffic.arrived() == traffic_options.messages);
    REQUIRE(forged == 1);
    REQUIRE(job.report().find(forgery.named) != std::string::npos);
}

TEST_CASE("more packets over a detour than credits are refused", "[core][detour]") {
    std::deque<SendRequest> sends;
    std::byte byte{1};
    Job job(detour_torus({5, 3}, 1));
    job.settle();
    REQUIRE(job.cut_link(end, direction));
    job.settle();
    // Rank 3, at the other end, relays for rank 6, which takes nothing: so it holds what it gets.
    std::optional<std::pair<PacketHeader, std::vector<std::byte>>> last;
    std::size_t relay = 0;
    job.world().set_interposer(
        [&](std::size_t from, const PacketHeader& header, const std::vector<std::byte>& payload) {
            if (!is_link_frame(header, LinkFrame::detour) || header.destination != 3) return;
            if (body_of<DetourBody>(payload).content != Detoured::packet) return;
            last.emplace(header, payload);
            relay = from;
        });
    job.stop(6);
    for (int n = 0; n < 10; ++n) job[end].send(sends.emplace_back(), Buffer(&byte, 1), 6, 0, 1);
    job.settle();
    REQUIRE(last);
    CHECK(job[3].state().link_holdings().held != 0);
    const char* const refused = "an invalid frame arrived over its detour";
    REQUIRE_FALSE(job.has_logged(refused));
    const auto port = std::uint32_t(routing::Direction{1, relay == 4 ? +1 : -1}.index());
    for (int n = 0; n < 3; ++n) {
        ++last->first.sequence;
        job.world().inject(job.interface(3, port), port, last->first, last->second);
        job.settle();
    }
    CHECK(job.has_logged(refused));
    job.go_on(6);
    job.settle();
}

// All ranks may believe the false report until the two ends of the link report its state.
TEST_CASE("false reports about links cause no loss", "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 25));
    CAPTURE(seed);
    TrafficOptions traffic_options;
    traffic_options.messages = 400;
    Traffic traffic(detour_torus({4, 3}, seed), traffic_options);
    Job& job = traffic.job();
    int forged = 0;
    job.world().set_interposer([&](std::size_t, PacketHeader& header,
                                   std::vector<std::byte>& payload) {
        if (!is_link_frame(header, LinkFrame::news) || forged >= 3) return;
        auto body = body_of<NewsBody>(payload);
        if (seed % 2 == 0 && LinkStates::is_dead(body.version))
            body.version = LinkStates::back(body.version);  // it is said to live
        else if (seed % 2 == 1)
            body = {std::uint32_t(seed) % 12, std::uint32_t(seed / 12) % 2, 1, 0};  // to be dead
        else
            return;
        const auto* const bytes = reinterpret_cast<const std::byte*>(&body);
        payload.insert(payload.end(), bytes, bytes + sizeof body);
        ++forged;
    });
    run_among_faults(traffic, traffic_options.messages);
    job.settle();
    INFO(traffic.stuck() << job.report());
    REQUIRE(traffic.failure() == "");
    REQUIRE(traffic.arrived() == traffic_options.messages);
    REQUIRE(forged == 3);
    REQUIRE(job.on_cables());
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

// The interposer plays a cable that was plugged in elsewhere: other ranks' hellos come by it.
TEST_CASE("a cable that comes back with another rank at its end is refused and reported",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 13));
    CAPTURE(seed);
    TrafficOptions traffic_options;
    traffic_options.messages = 400;
    Traffic traffic(detour_torus({4, 3}, seed), traffic_options);
    Job& job = traffic.job();
    job.cut_link(end, direction);
    int forged = 0;
    job.world().set_interposer([&](std::size_t, PacketHeader& header, std::vector<std::byte>&) {
        if (!is_link_frame(header, LinkFrame::hello) || forged >= 4) return;
        ++forged;
        if (seed % 2 == 0)
            header.source = 7;
        else
            header.tag = 3;  // the same rank's other link
    });
    bool mended = false;
    while (traffic.arrived() < traffic_options.messages && traffic.failure().empty()) {
        if (!mended && traffic.arrived() > 100) {
            job.revive_link(end, direction);
            mended = true;
        }
        if (!traffic.step()) break;
    }
    job.settle();
    INFO(traffic.stuck());
    REQUIRE(traffic.failure() == "");
    REQUIRE(traffic.arrived() == traffic_options.messages);
    REQUIRE(forged == 4);
    REQUIRE(job.report().find("the cable plugged in there leads to") != std::string::npos);
    REQUIRE(job.on_cables());  // it was the right one at last
    REQUIRE(job.quiet());
    REQUIRE(job.credits_home());
}

// Bits that change anywhere in what ranks say of links: at worst links are closed and requests end.
TEST_CASE("whatever ranks report about links, no message arrives twice, wrong or elsewhere",
          "[core][detour]") {
    const std::uint64_t seed = GENERATE(range(1, 121));
    CAPTURE(seed);
    TrafficOptions traffic_options;
    traffic_options.messages = 300;
    Traffic traffic(detour_torus({4, 3}, seed), traffic_options);
    traffic.expect_enemies();
    Job& job = traffic.job();
    sim::Random random(seed);
    job.world().set_interposer(
        [&](std::size_t, PacketHeader& header, std::vector<std::byte>& payload) {
            if (header.virtual_channel < dimensions || random.below(60) != 0) return;
            // A packet follows the body of a frame. Any relay may change it.
            const std::size_t bytes = std::min(
                payload.size(), is_link_frame(header, LinkFrame::detour) ? sizeof(DetourBody) : 64);
            switch (random.below(5)) {
                case 0:
                    header.sequence ^= 1u << random.below(32);
                    break;
                case 1:
                    header.source = std::uint32_t(random.below(13));
                    break;
                case 2:
                    header.tag = std::int32_t(random.below(6)) - 1;
                    break;
                default:
                    if (bytes != 0)
                        payload[random.below(bytes)] ^= std::byte(1u << random.below(8));
            }
        });
    // A relay that drops packets can keep other ranks waiting, as any relay can.
    for (int turns = 0; turns < 40'000 && traffic.arrived() < traffic_options.messages; ++turns) {
        if (random.below(400) == 0) {
            const Rank rank = Rank(random.below(12));
            const routing::Direction way{int(random.below(2)), +1};
            if (!job.cut_link(rank, way)) job.revive_link(rank, way);
        }
        if (!traffic.step()) break;
        REQUIRE(traffic.failure() == "");
    }
}

}  // namespace hostile_links_test
