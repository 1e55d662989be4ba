// SPDX-License-Identifier: BSD-3-Clause
// The errors of shared memory if the kernel separates two processes.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <functional>
#include <stdexcept>
#include <string>

#include "core/transport/shm/segment.h"

namespace torusmp::transport::shm {
namespace {

constexpr uid_t this_user = 65534;
constexpr uid_t other_user = 65533;

// Root may open everything, so both processes become ordinary users. Other users stay who they are.
void become(uid_t user) {
    if (geteuid() == 0 && setresuid(user, user, user) != 0) _exit(1);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);  // as at the start of a program
}

// Runs `body` in a process of its own, whose output can be read.
class Child {
  public:
    explicit Child(const std::function<void(int output)>& body) {
        int ends[2];
        REQUIRE(pipe(ends) == 0);
        pid_ = fork();
        REQUIRE(pid_ >= 0);
        if (pid_ == 0) {
            close(ends[0]);
            body(ends[1]);
            _exit(0);
        }
        close(ends[1]);
        output_ = ends[0];
    }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    ~Child() {
        close(output_);
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    std::string text() const {
        char piece[4096];
        std::string all;
        for (ssize_t n; (n = read(output_, piece, sizeof piece)) > 0;)
            all.append(piece, std::size_t(n));
        return all;
    }
    Address address() const {
        Address address{};
        REQUIRE(read(output_, &address, sizeof address) == sizeof address);
        return address;
    }

  private:
    pid_t pid_ = -1;
    int output_ = -1;
};

void put(int output, const void* from, std::size_t bytes) {
    if (write(output, from, bytes) != ssize_t(bytes)) _exit(1);
}

void own(int output, uid_t user, bool dumpable) {
    become(user);
    const auto segment = Segment::create({}, false);
    if (!dumpable) prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    put(output, &segment->address(), sizeof(Address));
    pause();
}

std::string refusal(const Address& address) {
    const Child opener([&address](int output) {
        become(this_user);
        std::string text = "opened";
        try {
            Segment::open(address);
        } catch (const std::runtime_error& error) {
            text = error.what();
        }
        put(output, text.data(), text.size());
    });
    return opener.text();
}

using Catch::Matchers::Contains;
using Catch::Matchers::EndsWith;

TEST_CASE("shared memory of a process that the kernel closes is refused with the reason") {
    SECTION("none") {
        const Child owner([](int output) { own(output, this_user, true); });
        CHECK(refusal(owner.address()) == "opened");
    }
    SECTION("it is not dumpable") {
        const Child owner([](int output) { own(output, this_user, false); });
        const std::string text = refusal(owner.address());
        CHECK_THAT(text, Contains("that process is not dumpable"));
        CHECK_THAT(text, !Contains("run as one user"));
    }
    SECTION("it belongs to another user") {
        if (geteuid() != 0) return;  // no process of another user can be made
        const Child owner([](int output) { own(output, other_user, true); });
        CHECK_THAT(refusal(owner.address()),
                   Contains("runs as user 65533, this one as user 65534"));
    }
    SECTION("it has ended, and its parent does not know yet") {
        const Child owner([](int output) {
            become(this_user);
            const auto segment = Segment::create({}, false);
            put(output, &segment->address(), sizeof(Address));
            _exit(0);
        });
        const Address address = owner.address();
        siginfo_t end{};
        REQUIRE(waitid(P_PID, id_t(address.pid), &end, WEXITED | WNOWAIT) == 0);
        CHECK_THAT(refusal(address), EndsWith(": that process has ended"));
    }
    SECTION("it has closed the descriptor") {
        const Child owner([](int output) {
            become(this_user);
            const auto segment = Segment::create({}, false);
            close(int(segment->address().descriptor));
            put(output, &segment->address(), sizeof(Address));
            pause();
        });
        CHECK_THAT(refusal(owner.address()), Contains("that process has closed the descriptor"));
    }
    SECTION("it has ended") {
        const Address address = Child([](int output) { own(output, this_user, true); }).address();
        CHECK_THAT(refusal(address), Contains("that process has ended"));
    }
}

// A write to a pipe without a reader would end this process by SIGPIPE.
TEST_CASE("ringing the bell of a process that died while it slept on it does no harm", "[shm]") {
    const bool late = GENERATE(false, true);
    int go[2];
    REQUIRE(pipe(go) == 0);
    const Child owner([&](int output) {
        const auto segment = Segment::create({}, !late);
        if (late) segment->add_bell();
        segment->control().sleeping = sleeps_on_bell;
        put(output, &segment->address(), sizeof(Address));
        char word;
        if (read(go[0], &word, 1) != 1) _exit(1);
    });
    const Address address = owner.address();
    const auto segment = Segment::open(address);
    if (late) {
        segment->wake();  // opens it
        segment->control().sleeping = sleeps_on_bell;
    }
    REQUIRE(write(go[1], "", 1) == 1);
    siginfo_t end{};
    REQUIRE(waitid(P_PID, id_t(address.pid), &end, WEXITED | WNOWAIT) == 0);
    segment->wake();
    CHECK(segment->control().sleeping == 0);
    close(go[0]);
    close(go[1]);
}

}  // namespace
}  // namespace torusmp::transport::shm
