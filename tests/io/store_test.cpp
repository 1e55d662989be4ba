// SPDX-License-Identifier: BSD-3-Clause
// Files of this host: errors of the kernel, and the limit of a process.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string>
#include <vector>

#include "io/hints.h"
#include "io/local_store.h"

namespace torusmp::io::store_test {

// A folder of its own, which goes with all in it.
struct Folder {
    Folder() { REQUIRE(::mkdtemp(path.data()) != nullptr); }
    ~Folder() {
        ::unlink(file().c_str());
        ::rmdir(path.c_str());
    }
    std::string file() const { return path + "/file"; }
    std::string path = "/tmp/torusmp_io_XXXXXX";
};

TEST_CASE("A local file keeps the written bytes, and reads end at its end", "[io]") {
    const Folder folder;
    int error = 0;
    const auto store = LocalStore::open(folder.file(), O_RDWR | O_CREAT | O_EXCL, error);
    REQUIRE(store != nullptr);
    const std::byte data[4] = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
    REQUIRE(store->write(data, 4, 10).bytes == 4);
    REQUIRE(store->size() == 14);
    std::byte back[8];
    const Outcome got = store->read(back, 8, 12);
    REQUIRE(got.error == 0);
    REQUIRE(got.bytes == 2);
    REQUIRE(back[0] == std::byte{3});
    REQUIRE(store->resize(11) == 0);
    REQUIRE(store->size() == 11);
    REQUIRE(store->reserve(4096) == 0);
    REQUIRE(store->size() == 4096);
    REQUIRE(store->flush() == 0);
    REQUIRE(store->lock(0, 10, false) == 0);
    REQUIRE(store->unlock(0, 10) == 0);
    REQUIRE(store->close() == 0);
    REQUIRE(store->write(data, 4, 0).error == EBADF);
}

// Where the kernel has no io_uring, each transfer is over when it has begun.
TEST_CASE("Transfers of a local file end with their bytes, in any number", "[io]") {
    const Folder folder;
    int error = 0;
    const auto store = LocalStore::open(folder.file(), O_RDWR | O_CREAT | O_EXCL, error);
    REQUIRE(store != nullptr);
    constexpr std::size_t length = 100'000, count = 40;
    std::vector<std::vector<std::byte>> memory(count);
    std::vector<Transfer> transfers;
    const auto run = [&](bool write) {
        transfers.clear();
        for (std::size_t i = 0; i < count; ++i)
            transfers.push_back({write, memory[i].data(), length, Offset(i * length)});
        for (Transfer& transfer : transfers) store->begin(transfer);
        const auto over = [&] {
            return std::all_of(transfers.begin(), transfers.end(),
                               [](const Transfer& it) { return it.over; });
        };
        while (!over()) store->take_ended(true);
        store->take_ended(true);  // does not wait if none has begun
    };
    for (std::size_t i = 0; i < count; ++i) memory[i].assign(length, std::byte(i + 1));
    run(true);
    for (const Transfer& it : transfers)
        REQUIRE((it.outcome.error == 0 && it.outcome.bytes == length));
    REQUIRE(store->size() == Offset(count * length));
    REQUIRE(store->resize(Offset(count * length - 10)) == 0);
    for (auto& it : memory) it.assign(length, {});
    run(false);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t expected = i + 1 == count ? length - 10 : length;
        REQUIRE(transfers[i].outcome.error == 0);
        REQUIRE(transfers[i].outcome.bytes == expected);
        REQUIRE(std::count(memory[i].begin(), memory[i].end(), std::byte(i + 1)) ==
                std::ptrdiff_t(expected));
    }
}

TEST_CASE("A transfer that the kernel refuses ends with the reason", "[io]") {
    const Folder folder;
    int error = 0;
    REQUIRE(LocalStore::open(folder.file(), O_RDWR | O_CREAT | O_EXCL, error) != nullptr);
    const auto store = LocalStore::open(folder.file(), O_RDONLY, error);
    REQUIRE(store != nullptr);
    std::vector<std::byte> memory(1000);
    Transfer transfer{true, memory.data(), memory.size(), 0};
    store->begin(transfer);
    while (!transfer.over) store->take_ended(true);
    REQUIRE(transfer.outcome.error == EBADF);
    REQUIRE(transfer.outcome.bytes == 0);
}

// Their memory may be gone afterwards.
TEST_CASE("A file is closed after its transfers", "[io]") {
    const Folder folder;
    int error = 0;
    auto store = LocalStore::open(folder.file(), O_RDWR | O_CREAT | O_EXCL, error);
    std::vector<std::byte> memory(std::size_t(1) << 20, std::byte{3});
    Transfer transfer{true, memory.data(), memory.size(), 0};
    store->begin(transfer);
    REQUIRE(store->close() == 0);
    REQUIRE(transfer.over);
    REQUIRE(transfer.outcome.bytes == memory.size());
}

TEST_CASE("A file that cannot be opened is reported with the kernel's reason", "[io]") {
    const Folder folder;
    int error = 0;
    REQUIRE(LocalStore::open(folder.file(), O_RDWR, error) == nullptr);
    REQUIRE(error == ENOENT);
    REQUIRE(LocalStore::open(folder.path, O_RDONLY, error) == nullptr);
    REQUIRE(error == EISDIR);
    REQUIRE(LocalStore::open(std::string(5000, 'x'), O_RDONLY, error) == nullptr);
    REQUIRE(error == ENAMETOOLONG);
}

TEST_CASE("Exceeding the file size limit of the process is an error and not a signal", "[io]") {
    const Folder folder;
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
    rlimit little = before;
    little.rlim_cur = 1000;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
    int error = 0;
    const auto store = LocalStore::open(folder.file(), O_RDWR | O_CREAT, error);
    REQUIRE(store != nullptr);
    const std::vector<std::byte> data(600, std::byte{5});
    REQUIRE(store->write(data.data(), 600, 0).error == 0);
    const Outcome beyond = store->write(data.data(), 600, 600);
    REQUIRE(beyond.error == EFBIG);
    REQUIRE(beyond.bytes == 400);
    REQUIRE(store->size() == 1000);
    std::vector<std::byte> more(600, std::byte{5});
    Transfer transfer{true, more.data(), more.size(), 600};
    store->begin(transfer);
    while (!transfer.over) store->take_ended(true);
    REQUIRE(transfer.outcome.error == EFBIG);
    REQUIRE(transfer.outcome.bytes == 400);
    REQUIRE(store->resize(1001) == EFBIG);
    REQUIRE(store->reserve(1001) == EFBIG);
    REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
}

TEST_CASE("Hints accept known keys and possible values", "[io]") {
    Hints hints;
    REQUIRE(hints.take("cb_nodes", "3"));
    REQUIRE(hints.take("cb_buffer_size", "65536"));
    REQUIRE(hints.take("romio_cb_write", "disable"));
    REQUIRE(hints.take("collective_buffering", "true"));
    REQUIRE_FALSE(hints.take("cb_nodes", "0"));
    REQUIRE_FALSE(hints.take("cb_nodes", "3x"));
    REQUIRE_FALSE(hints.take("cb_buffer_size", "-1"));
    REQUIRE_FALSE(hints.take("romio_cb_read", "perhaps"));
    REQUIRE_FALSE(hints.take("access_style", "random"));
    REQUIRE(hints.aggregators == 3);
    REQUIRE(hints.collective_buffer == 65536);
    REQUIRE(hints.collective_write == Choice::yes);
}

}  // namespace torusmp::io::store_test
