// What is specific to verbs: registration of memory and its end, copies where it is refused,
// packets forwarded from the slot in which they came, and messages when devices, peers and settings
// are wrong. Runs where there are RDMA devices (verbs_pair.h), as root; tests of the limit of
// locked memory without CAP_IPC_LOCK.
#include <sys/mman.h>
#include <sys/resource.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <memory>

#include "config/memory_lock.h"
#include "recorder.h"
#include "verbs_pair.h"

using namespace torusmp::transport;
using namespace torusmp::transport::testing;
using verbs::VerbsInterface;

namespace verbs_test {
namespace {

constexpr std::size_t slot_bytes = 16384;
constexpr auto patience = std::chrono::seconds(30);

PortOptions port(std::uint32_t number, int credits = 8) {
    PortOptions options{number, 1, {}, slot_bytes};
    options.credits[0] = std::uint8_t(credits);
    return options;
}

// Polls all of them until done() or, if a test fails, until patience runs out.
template <class Done>
bool pump(std::initializer_list<std::pair<VerbsInterface*, Recorder*>> all, Done&& done) {
    const auto end = Clock::now() + patience;
    while (!done()) {
        if (Clock::now() > end) return false;
        for (const auto& [interface, recorder] : all) interface->poll(*recorder);
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    return true;
}

// One cable, port 0 of a to port 1 of b.
struct Cable {
    explicit Cable(std::size_t cache = 1u << 30, std::function<void(std::string_view)> log = {})
        : a(std::vector{port(0)}, options("a", verbs_devices().first, cache, log)),
          b(std::vector{port(1)}, options("b", verbs_devices().second, cache, log)),
          to_b(a.connect(b.address(), {0, 1, true})),
          to_a(b.connect(a.address(), {1, 0, true})) {}

    static verbs::InterfaceOptions options(const char* host, const std::string& device,
                                           std::size_t cache,
                                           std::function<void(std::string_view)> log) {
        auto made = verbs_options(host, device, {port(0), port(1)});
        made.cache = cache;
        made.log = std::move(log);
        return made;
    }
    template <class Done>
    bool turn_until(Done&& done) {
        return pump({{&a, &at_a}, {&b, &at_b}}, std::forward<Done>(done));
    }
    // Writes `data` into b's memory and waits until it is there.
    bool write(Bytes into, const std::vector<std::byte>& data) {
        const RemoteMemory remote = b.register_memory(into, &to_a);
        const std::size_t notices = at_b.notices.size();
        const std::size_t transfers = at_a.transfers.size();
        const bool sent =
            testing::write(to_b, remote, 0, data, 5, 6) == Transfer::pending && turn_until([&] {
                return at_b.notices.size() > notices && at_a.transfers.size() > transfers;
            });
        b.deregister_memory(remote);
        return sent;
    }

    VerbsInterface a;
    VerbsInterface b;
    Channel& to_b;
    Channel& to_a;
    Recorder at_a;
    Recorder at_b;
};

std::byte* map_at(void* where, std::size_t bytes) {
    void* const memory =
        mmap(where, bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return static_cast<std::byte*>(memory);
}

// A limit of locked memory while it lives. For processes without CAP_IPC_LOCK, which would lift it;
// verbs does not serve one that gives it up on the way, so tests with it are run by themselves:
// setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock verbs_test "[memlock]".
class LittleMemory {
  public:
    explicit LittleMemory(rlim_t bytes) {
        getrlimit(RLIMIT_MEMLOCK, &before_);
        const rlimit little{bytes, before_.rlim_max};
        REQUIRE(setrlimit(RLIMIT_MEMLOCK, &little) == 0);
        REQUIRE(torusmp::config::memory_lock_limit() == bytes);
    }
    ~LittleMemory() { setrlimit(RLIMIT_MEMLOCK, &before_); }

  private:
    rlimit before_{};
};

}  // namespace

TEST_CASE("memory is registered once, and anew when the program gets its address back", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 1u << 20;
    std::byte* memory = map_at(nullptr, bytes);
    const auto first = pattern(bytes, 1);
    REQUIRE(cable.write({memory, bytes}, first));
    const auto made = cable.b.registrations().made;
    CHECK(made >= 1);
    REQUIRE(cable.write({memory, bytes}, pattern(bytes, 2)));
    CHECK(cable.b.registrations().made == made);
    CHECK(cable.b.registrations().found >= 1);

    SECTION("by munmap") {
        munmap(memory, bytes);
        map_at(memory, bytes);
    }
    SECTION("by a mapping in its place") {
        munmap(memory, bytes / 2);
        map_at(memory, bytes / 2);
    }
    SECTION("by madvise") {
        REQUIRE(madvise(memory, bytes, MADV_DONTNEED) == 0);
    }
    const auto third = pattern(bytes, 3);
    REQUIRE(cable.write({memory, bytes}, third));
    CHECK(std::memcmp(memory, third.data(), bytes) == 0);
    CHECK(cable.b.registrations().unmapped >= 1);
    CHECK(cable.b.registrations().made > made);
    munmap(memory, bytes);
}

TEST_CASE("memory that free gives back to the system is forgotten", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 4u << 20;
    // The same size again and again is allocated at the same address.
    for (std::uint64_t round = 0; round < 4; ++round) {
        auto* const memory = static_cast<std::byte*>(std::malloc(bytes));
        const auto data = pattern(bytes, round);
        REQUIRE(cable.write({memory, bytes}, data));
        REQUIRE(std::memcmp(memory, data.data(), bytes) == 0);
        std::free(memory);
    }
    CHECK(cable.b.registrations().made >= 1);
}

TEST_CASE("no more registered memory is kept than was asked for, and the oldest goes first",
          "[verbs]") {
    constexpr std::size_t piece = 256u << 10;
    Cable cable(4 * piece);
    std::byte* const memory = map_at(nullptr, 16 * piece);
    const auto data = pattern(piece, 1);
    for (std::size_t i = 0; i < 8; ++i) {
        // Gaps between them, so that each is one of its own.
        REQUIRE(cable.write({memory + 2 * i * piece, piece}, data));
        REQUIRE(cable.b.registrations().bytes <= 4 * piece);
    }
    CHECK(cable.b.registrations().evicted == 4);
    const auto made = cable.b.registrations().made;
    REQUIRE(cable.write({memory + 14 * piece, piece}, data));
    CHECK(cable.b.registrations().made == made);
    REQUIRE(cable.write({memory, piece}, data));
    CHECK(cable.b.registrations().made == made + 1);
    munmap(memory, 16 * piece);
}

TEST_CASE("without a cache memory is registered for each message", "[verbs]") {
    Cable cable(0);
    std::vector<std::byte> memory(100'000);
    for (std::uint64_t round = 0; round < 3; ++round) {
        const auto data = pattern(memory.size(), round);
        REQUIRE(cable.write(memory, data));
        REQUIRE(memory == data);
    }
    CHECK(cable.b.registrations().made == 3);
    CHECK(cable.b.registrations().bytes == 0);
}

TEST_CASE("memory made by the transport stays registered", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 300'000;
    auto* const memory = static_cast<std::byte*>(cable.b.allocate(bytes, 4096));
    REQUIRE(memory != nullptr);
    const auto made = cable.b.registrations().made;
    for (std::uint64_t round = 0; round < 3; ++round) {
        const auto data = pattern(bytes, round);
        REQUIRE(cable.write({memory, bytes}, data));
        REQUIRE(std::memcmp(memory, data.data(), bytes) == 0);
    }
    CHECK(cable.b.registrations().made == made);
    cable.b.free(memory);
}

TEST_CASE("memory that the program may only read is sent from", "[verbs]") {
    Cable cable;
    constexpr std::size_t bytes = 200'000;
    std::byte* const source = map_at(nullptr, bytes);
    const auto data = pattern(bytes, 9);
    std::memcpy(source, data.data(), bytes);
    REQUIRE(mprotect(source, bytes, PROT_READ) == 0);
    std::vector<std::byte> memory(bytes);
    const RemoteMemory remote = cable.b.register_memory(memory, &cable.to_a);
    REQUIRE(testing::write(cable.to_b, remote, 0, {source, bytes}, 1, 2) == Transfer::pending);
    REQUIRE(cable.turn_until([&] { return !cable.at_b.notices.empty(); }));
    CHECK(memory == data);
    cable.b.deregister_memory(remote);
    munmap(source, bytes);
}

TEST_CASE(
    "where no more memory may be locked, the limit and the remedy are told and large "
    "messages go by copies",
    "[.memlock]") {
    std::string told;
    Cable cable(1u << 30, [&](std::string_view text) { told += text; });
    std::vector<std::byte> memory(1'000'000);
    const auto data = pattern(memory.size(), 4);
    const RemoteMemory remote = cable.b.register_memory(memory, &cable.to_a);
    REQUIRE(remote.length == memory.size());
    {
        const LittleMemory little(64u << 10);
        REQUIRE(testing::write(cable.to_b, remote, 0, data, 1, 2) == Transfer::pending);
        REQUIRE(cable.turn_until(
            [&] { return !cable.at_b.notices.empty() && !cable.at_a.transfers.empty(); }));
        // The receiver's own memory: its name is given to nobody, so packets carry the message.
        std::vector<std::byte> other(1'000'000);
        CHECK(cable.b.register_memory(other, &cable.to_a).length == 0);
    }
    CHECK(memory == data);
    CHECK(cable.a.traffic().bounced == data.size());
    CHECK(cable.a.registrations().refused == 1);
    CHECK_THAT(told, Catch::Contains("64 KiB in all (`ulimit -l`)"));
    CHECK_THAT(told, Catch::Contains("limits.conf"));
    cable.b.deregister_memory(remote);
}

TEST_CASE("a channel without memory for its slots says what it may lock", "[.memlock]") {
    VerbsInterface a(std::vector{port(0)}, verbs_options("a", verbs_devices().first, {port(0)}));
    VerbsInterface b(std::vector{port(1)}, verbs_options("b", verbs_devices().second, {port(1)}));
    const LittleMemory little(64u << 10);
    CHECK_THROWS_WITH(a.connect(b.address(), {0, 1, true}),
                      Catch::Contains("ulimit -l") && Catch::Contains("transport.tokens"));
}

TEST_CASE("a packet is sent on from the slot in which it came", "[verbs]") {
    const auto [first, second] = verbs_devices();
    VerbsInterface a(std::vector{port(0)}, verbs_options("a", first, {port(0)}));
    // Two ends on one device: what comes by one port leaves by the other.
    VerbsInterface b(std::vector{port(1), port(2)}, verbs_options("b", second, {port(1), port(2)}));
    VerbsInterface c(std::vector{port(3)}, verbs_options("c", first, {port(3)}));
    Channel& from_a = a.connect(b.address(), {0, 1, true});
    Channel& to_a = b.connect(a.address(), {1, 0, true});
    Channel& to_c = b.connect(c.address(), {2, 3, true});
    c.connect(b.address(), {3, 2, true});
    Recorder at_a;
    Recorder at_b;
    Recorder at_c;
    std::vector<std::byte> memory(400'000);
    const RemoteMemory remote = c.register_memory(memory, nullptr);
    bool place = false;
    // Forwards what comes from a, as a relay does: the payload is only looked at here.
    class Relay final : public Sink {
      public:
        std::function<Verdict(const PacketHeader&, ConstBytes)> pass;
        Verdict on_packet(Channel&, const PacketHeader& header, const std::byte* at) override {
            return pass(header, {at, header.length});
        }
        void on_notice(Channel&, std::uint64_t) override {}
        void on_transfer(Channel&, std::uint64_t, bool) override {}
        void on_connect(std::uint32_t) override {}
        void on_down(Channel&, std::string_view) override {}
    } relay;
    unsigned credits = 8;
    constexpr std::size_t front = 32;
    relay.pass = [&](const PacketHeader& header, ConstBytes payload) {
        if (credits == 0) return Verdict::held;
        --credits;
        if (place) {
            const std::size_t offset = header.sequence * (slot_bytes - front);
            to_c.send_placed(header, payload.first(front), payload.subspan(front),
                             {remote.address + offset, remote.as<PortKeys>().by_port[3]});
        } else {
            to_c.send(header, payload);
        }
        return Verdict::taken;
    };
    // What is sent before a channel is open is kept as a copy.
    unsigned mine = 7;
    --credits;
    to_c.send(header_of(0, 0, 0), {});
    from_a.send(header_of(0, 0, 0), {});
    REQUIRE(pump({{&a, &at_a}, {&c, &at_c}}, [&] {
        b.poll(relay);
        return at_c.packets.size() == 2;
    }));
    at_c.packets[0].channel->grant(credit_of(0));
    at_c.packets[0].channel->grant(credit_of(0));
    to_a.grant(credit_of(0));
    for (const bool placed : {false, true}) {
        place = placed;
        at_c.packets.clear();
        std::uint32_t sent = 0;
        std::size_t given = 0;
        std::size_t passed = 0;
        const std::uint32_t total = 20;
        const auto end = Clock::now() + patience;
        while (at_c.packets.size() < total && Clock::now() < end) {
            for (; mine != 0 && sent < total; --mine, ++sent) {
                const auto payload = pattern(slot_bytes, sent);
                from_a.send(header_of(0, sent, payload.size()), payload);
            }
            a.poll(at_a);
            b.poll(relay);
            credits += credits_in(to_c.collect_grants(), 0);
            c.poll(at_c);
            for (; given < at_c.packets.size(); ++given)
                at_c.packets[given].channel->grant(credit_of(0));
            mine += credits_in(from_a.collect_grants(), 0);
            // What b has passed on is free again at its side.
            for (; passed < at_c.packets.size(); ++passed) to_a.grant(credit_of(0));
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        }
        REQUIRE(at_c.packets.size() == total);
        for (std::uint32_t n = 0; n < total; ++n) {
            const auto payload = pattern(slot_bytes, n);
            const std::vector<std::byte> head(payload.begin(), payload.begin() + front);
            REQUIRE(at_c.packets[n].header.sequence == n);
            REQUIRE(at_c.packets[n].payload == (placed ? head : payload));
            if (placed)
                REQUIRE(std::memcmp(memory.data() + n * (slot_bytes - front),
                                    payload.data() + front, slot_bytes - front) == 0);
        }
    }
    CHECK(b.traffic().forwarded == 40);
    CHECK(b.traffic().copied == 0);
    c.deregister_memory(remote);
}

TEST_CASE("devices that cannot be used are named with what to do", "[verbs]") {
    const auto open = [](const std::string& device, int gid_index) {
        auto options = verbs_options("qcd000", device, {port(0)});
        options.gid_index = gid_index;
        VerbsInterface interface(std::vector{port(0)}, options);
    };
    CHECK_THROWS_WITH(open("lo", -1), Catch::Contains("qcd000") && Catch::Contains("device lo") &&
                                          Catch::Contains("rdma link add"));
    CHECK_THROWS_WITH(open("nothing0", -1), Catch::Contains("nothing0"));
    CHECK_THROWS_WITH(open(verbs_devices().first, 77), Catch::Contains("verbs.gid_index") &&
                                                           Catch::Contains("77") &&
                                                           Catch::Contains("0 (fe80"));
}

TEST_CASE("who does not know the job's secret is not heard, and who waits for it says so",
          "[verbs]") {
    auto a_options = verbs_options("a", verbs_devices().first, {port(0)});
    auto b_options = verbs_options("b", verbs_devices().second, {port(1)});
    a_options.timeout = b_options.timeout = std::chrono::milliseconds(400);
    b_options.secret[0] ^= std::byte(1);
    VerbsInterface a(std::vector{port(0)}, a_options);
    VerbsInterface b(std::vector{port(1)}, b_options);
    a.connect(b.address(), {0, 1, true});
    b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}},
                 [&] { return !at_a.downs.empty() && !at_b.downs.empty(); }));
    CHECK_THAT(at_a.downs.front().second,
               Catch::Contains("not connected within 0.4 s") && Catch::Contains(" of b"));
}

TEST_CASE("ends with other settings do not come together", "[verbs]") {
    VerbsInterface a(std::vector{port(0, 8)}, verbs_options("a", verbs_devices().first, {port(0)}));
    VerbsInterface b(std::vector{port(1, 9)},
                     verbs_options("b", verbs_devices().second, {port(1)}));
    a.connect(b.address(), {0, 1, true});
    b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}},
                 [&] { return !at_a.downs.empty() && !at_b.downs.empty(); }));
    CHECK_THAT(at_a.downs.front().second, Catch::Contains("do not fit"));
}

TEST_CASE("a peer that gives a link up, or is gone, is told of at the other end", "[verbs]") {
    SECTION("by closing it") {
        Cable cable;
        std::vector<std::byte> memory(100);
        REQUIRE(cable.write(memory, pattern(100, 1)));
        cable.to_b.close("enough of it");
        REQUIRE(cable.turn_until([&] { return !cable.at_b.downs.empty(); }));
        CHECK_THAT(cable.at_b.downs.front().second, Catch::Contains("enough of it"));
        CHECK(cable.at_a.downs.empty());
    }
    SECTION("by a goodbye, which is no fault") {
        auto a = std::make_unique<VerbsInterface>(
            std::vector{port(0)}, verbs_options("a", verbs_devices().first, {port(0)}));
        VerbsInterface b(std::vector{port(1)},
                         verbs_options("b", verbs_devices().second, {port(1)}));
        Channel& to_b = a->connect(b.address(), {0, 1, true});
        b.connect(a->address(), {1, 0, true});
        Recorder at_a;
        Recorder at_b;
        to_b.send(header_of(0, 1, 0), {});
        REQUIRE(pump({{a.get(), &at_a}, {&b, &at_b}}, [&] { return at_b.packets.size() == 1; }));
        a.reset();
        for (int i = 0; i < 2000; ++i) b.poll(at_b);
        CHECK(at_b.downs.empty());
    }
}

TEST_CASE("nothing ever finds no slot, however few credits there are", "[verbs]") {
    std::vector<PortOptions> ports{port(0, 2)};
    auto ports_b = std::vector{port(1, 2)};
    VerbsInterface a(ports, verbs_options("a", verbs_devices().first, ports));
    VerbsInterface b(ports_b, verbs_options("b", verbs_devices().second, ports_b));
    Channel& to_b = a.connect(b.address(), {0, 1, true});
    Channel& to_a = b.connect(a.address(), {1, 0, true});
    Recorder at_a;
    Recorder at_b;
    std::vector<std::byte> memory(64);
    const RemoteMemory remote = b.register_memory(memory, &to_a);
    const auto data = pattern(64, 1);
    // One way only: packets whose credits come home alone, and a crowd of notices.
    unsigned credits = 2;
    std::uint32_t sent = 0;
    std::size_t given = 0;
    std::uint64_t notices = 0;
    const std::uint32_t total = 500;
    REQUIRE(pump({{&a, &at_a}, {&b, &at_b}}, [&] {
        for (; given < at_b.packets.size(); ++given) to_a.grant(credit_of(0));
        credits += credits_in(to_b.collect_grants(), 0);
        for (; credits != 0 && sent < total; --credits, ++sent)
            to_b.send(header_of(0, sent, 0), {});
        for (int i = 0; i < 3 && notices < total; ++i, ++notices)
            testing::write(to_b, remote, 0, data, notices, notices);
        return at_b.packets.size() == total && at_b.notices.size() == total && credits == 2;
    }));
    for (std::uint32_t n = 0; n < total; ++n) {
        REQUIRE(at_b.packets[n].header.sequence == n);
        REQUIRE(at_b.notices[n] == n);
    }
    CHECK(a.device_counters().receiver_not_ready == 0);
    CHECK(b.device_counters().receiver_not_ready == 0);
    b.deregister_memory(remote);
}

}  // namespace verbs_test
