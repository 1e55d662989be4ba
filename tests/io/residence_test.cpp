// SPDX-License-Identifier: BSD-3-Clause
// The host of a file, determined from the file systems of fictitious hosts, and the file systems of
// this host.
#include <catch2/catch.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "io/residence.h"

namespace torusmp::io::residence_test {

constexpr std::int64_t nfs = 0x6969, ext4 = 0xef53;

// A host whose folder is on its own disk; kernels differ.
Sight disk_of(const char* host, std::uint64_t inode, bool has_file = false) {
    Sight sight{};
    sight.kernel = std::hash<std::string>{}(host);
    sight.device = 7;
    sight.folder = inode;
    sight.file = has_file ? 99 : 0;
    sight.changed = std::int64_t(inode) * 10;
    sight.type = ext4;
    sight.rule = -1;
    std::strncpy(sight.host, host, sizeof sight.host - 1);
    return sight;
}
Sight mounted_from(const Sight& disk, const char* host) {
    Sight sight = disk;
    sight.kernel = std::hash<std::string>{}(host);
    sight.device = 50;
    sight.type = nfs;
    sight.shared = 1;
    std::memset(sight.host, 0, sizeof sight.host);
    std::strncpy(sight.host, host, sizeof sight.host - 1);
    return sight;
}
Sight without_folder(const char* host) {
    Sight sight = disk_of(host, 0);
    sight.error = ENOENT;
    return sight;
}

Residence found(const std::vector<Sight>& sights, bool creates = true, const Homes& homes = {}) {
    std::vector<int> hosts(sights.size());
    for (std::size_t i = 0; i < hosts.size(); ++i) hosts[i] = int(i);
    return residence_of("/data/x", sights, hosts, homes, creates);
}

TEST_CASE("A folder that only one host has is reached through this host", "[io]") {
    const auto residence = found({without_folder("a"), disk_of("b", 5), without_folder("c")});
    REQUIRE(residence.refusal.empty());
    REQUIRE(residence.members == std::vector<bool>{false, true, false});
    REQUIRE(residence.keeper == 1);
    REQUIRE(residence.why == "only host b has the folder (ext4)");
}

TEST_CASE("A file may be on other hosts only if no member sees its folder", "[io]") {
    REQUIRE(found({without_folder("a"), without_folder("b")}).elsewhere);
    REQUIRE_FALSE(found({without_folder("a"), disk_of("b", 5)}).elsewhere);
    // A folder that may not be entered is there.
    Sight closed = without_folder("b");
    closed.error = EACCES;
    REQUIRE_FALSE(found({without_folder("a"), closed}).elsewhere);
    REQUIRE(residence_of("/data/x", {without_folder("a")}, {0}, {}, true).elsewhere);
}

TEST_CASE("A file system that all hosts mount is used by all of them", "[io]") {
    const Sight server = disk_of("server", 5);
    const auto residence = found({mounted_from(server, "a"), mounted_from(server, "b")});
    REQUIRE(residence.refusal.empty());
    REQUIRE(residence.all());
    REQUIRE(residence.why == "all hosts see the same nfs");
}

TEST_CASE("The host of the disk is preferred to hosts that mount it", "[io]") {
    const Sight disk = disk_of("head", 5);
    const auto residence = found({mounted_from(disk, "a"), disk, mounted_from(disk, "b")});
    REQUIRE(residence.refusal.empty());
    REQUIRE(residence.members == std::vector<bool>{false, true, false});
    REQUIRE(residence.why == "host head has the disk (ext4) that the others mount");
    // Another server's, whose inode is the same by chance.
    Sight other = mounted_from(disk, "a");
    other.changed += 1;
    REQUIRE_FALSE(found({other, disk}).refusal.empty());
}

TEST_CASE("A new file is not created if its host is unclear", "[io]") {
    // Root folders of disks have one number everywhere.
    const auto residence = found({disk_of("a", 2), disk_of("b", 2)});
    REQUIRE(residence.refusal ==
            "hosts a and b have different file systems there, and none has the file. Set io.at to "
            "say which host has it, like io.at = { \"/data\" = \"HOST\" }");
    // Whoever only opens it hears that there is none.
    REQUIRE(found({disk_of("a", 2), disk_of("b", 2)}, false).refusal.empty());
    // A file that is there says where it lives, unless two hosts have one.
    const auto known = found({disk_of("a", 2), disk_of("b", 2, true)});
    REQUIRE(known.refusal.empty());
    REQUIRE(known.members == std::vector<bool>{false, true});
    REQUIRE(found({disk_of("a", 2, true), disk_of("b", 2, true)})
                .refusal.find("hosts a and b have different files of that name") == 0);
}

TEST_CASE("io.at sets the host of a file", "[io]") {
    const auto with_rule = [](int rule, bool second_named) {
        std::vector<Sight> sights{disk_of("a", 2), disk_of("b", 3)};
        for (Sight& sight : sights) sight.rule = rule;
        sights[1].named = second_named ? 1 : 0;
        return sights;
    };
    const Homes homes{{"/all", "all"}, {"/data", "b"}, {"/each", "each"}, {"/guess", "auto"}};
    REQUIRE(found(with_rule(0, false), true, homes).all());
    const auto there = found(with_rule(1, true), true, homes);
    REQUIRE(there.members == std::vector<bool>{false, true});
    REQUIRE(there.why == "io.at has \"/data\" = \"b\"");
    REQUIRE(found(with_rule(1, false), true, homes).refusal ==
            "io.at has \"/data\" = \"b\", but this job has no rank on that host. Start one there, "
            "or correct io.at");
    REQUIRE_FALSE(found(with_rule(2, false), true, homes).refusal.empty());
    REQUIRE(residence_of("/each/x", with_rule(2, false), {0, 0}, homes, true).refusal.empty());
    REQUIRE_FALSE(found(with_rule(3, false), true, homes).refusal.empty());
    // A relative path where the current folders differ.
    auto sights = with_rule(1, true);
    sights[0].rule = 0;
    REQUIRE(found(sights, true, homes).refusal.find("Give an absolute path") != std::string::npos);
}

TEST_CASE("io.at is read as a table and as text, and the longest prefix counts", "[io]") {
    const auto read = [](const char* text) {
        return setting::at.in(setting::at.read(config::Raw::words(text)));
    };
    const Homes homes = read("/home=head,/home/scratch/=each,/=all");
    REQUIRE(homes == Homes{{"/home", "head"}, {"/home/scratch", "each"}, {"/", "all"}});
    REQUIRE(home_of(homes, "/home/x")->second == "head");
    REQUIRE(home_of(homes, "/home")->second == "head");
    REQUIRE(home_of(homes, "/home/./scratch/../y")->second == "head");
    REQUIRE(home_of(homes, "/home/scratch/a/b")->second == "each");
    REQUIRE(home_of(homes, "/homes/x")->second == "all");
    const Homes alone = read("/home=head");
    REQUIRE(home_of(alone, "/homes/x") == alone.end());
    for (const char* wrong : {"", "home=head", "/home", "/home=", "/home=a b", "/a=x,/a/=y"})
        REQUIRE_THROWS_AS(read(wrong), config::Mismatch);
}

TEST_CASE("A host sees folders, files and rules", "[io]") {
    const auto folder = std::filesystem::temp_directory_path() /
                        ("torusmp_sight_" + std::to_string(std::hash<std::string>{}(__FILE__)) +
                         "_" + std::to_string(getpid()));
    std::filesystem::create_directory(folder);
    const std::string path = folder / "x";
    const Homes homes{{folder.string(), "this_node"}};
    const Sight empty = look_at(path, homes, "this_node");
    REQUIRE(empty.folder != 0);
    REQUIRE(empty.file == 0);
    REQUIRE(empty.rule == 0);
    REQUIRE(empty.named == 1);
    REQUIRE(empty.host_name() == "this_node");
    std::ofstream(path) << "x";
    REQUIRE(look_at(path, homes, "").file != 0);
    REQUIRE(look_at(path, homes, "other_node").named == 0);
    REQUIRE(same_place(look_at(path, homes, "a"), look_at((folder / "y").string(), {}, "b")));
    REQUIRE_FALSE(same_place(empty, look_at("/proc/x", {}, "")));
    std::filesystem::remove_all(folder);
    const Sight gone = look_at(path, {}, "");
    REQUIRE(gone.folder == 0);
    REQUIRE(gone.error == ENOENT);
    REQUIRE(gone.rule == -1);
}

}  // namespace torusmp::io::residence_test
