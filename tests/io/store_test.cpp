// SPDX-License-Identifier: BSD-3-Clause
// Files of this host: errors of the kernel, and the limit of a process.
#include <catch2/catch.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

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
