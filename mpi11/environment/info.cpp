// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/environment/info.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <fstream>
#include <iterator>

#include "mpi11/error/check.h"

namespace torusmp::mpi {

const std::string* Info::find(std::string_view key) const {
    for (const auto& [known, value] : entries)
        if (known == key) return &value;
    return nullptr;
}

void Info::set(std::string_view key, std::string_view value) {
    for (auto& [known, old] : entries) {
        if (known != key) continue;
        old = value;
        return;
    }
    entries.emplace_back(key, value);
}

bool Info::erase(std::string_view key) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return entry.first == key; });
    if (found == entries.end()) return false;
    entries.erase(found);
    return true;
}

Info::Entries entries_of(MPI_Info info) {
    if (info == MPI_INFO_NULL) return {};
    return checked<Info>(info).entries;
}

Info::Entries hints_in(const Info::Entries& entries) {
    constexpr std::string_view known[] = {"mpi_assert_no_any_tag", "mpi_assert_no_any_source",
                                          "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
    Info::Entries hints;
    for (const auto& entry : entries)
        if (std::find(std::begin(known), std::end(known), entry.first) != std::end(known) &&
            (entry.second == "true" || entry.second == "false"))
            hints.push_back(entry);
    return hints;
}

namespace {

// The command line of this process, words joined by blanks.
std::pair<std::string, std::string> command_line() {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::string command = text.substr(0, text.find('\0'));
    std::string arguments;
    if (command.size() + 1 < text.size())
        arguments = text.substr(command.size() + 1, text.size() - command.size() - 2);
    std::replace(arguments.begin(), arguments.end(), '\0', ' ');
    return {command, arguments};
}

std::string_view level_name() {
    switch (library().thread_level) {
        case MPI_THREAD_FUNNELED:
            return "MPI_THREAD_FUNNELED";
        case MPI_THREAD_SERIALIZED:
            return "MPI_THREAD_SERIALIZED";
        case MPI_THREAD_MULTIPLE:
            return "MPI_THREAD_MULTIPLE";
        default:
            return "MPI_THREAD_SINGLE";
    }
}

std::string_view checked_key(const char* key) {
    if (key == nullptr) fail(MPI_ERR_INFO_KEY, "the argument key is a null pointer");
    const std::string_view text(key);
    if (text.empty()) fail(MPI_ERR_INFO_KEY, "found an empty key, expected a name");
    if (text.size() >= MPI_MAX_INFO_KEY)
        fail(MPI_ERR_INFO_KEY, "found a key of {} characters, expected at most {}", text.size(),
             MPI_MAX_INFO_KEY - 1);
    return text;
}

// An info that the program may change.
Info& changeable(MPI_Info info) {
    Info& object = checked<Info>(info);
    if (object.constant != 0) fail(MPI_ERR_INFO, "found MPI_INFO_ENV, which cannot be changed");
    return object;
}

// The first `room` - 1 characters and a closing null.
void copy_out(const std::string& text, char* to, std::size_t room) {
    const std::size_t length = std::min(text.size(), room - 1);
    std::copy_n(text.data(), length, to);
    to[length] = '\0';
}

// The facts about this process that are known at any time.
Info::Entries environment(const std::string& command, const std::string& arguments) {
    Info env;
    env.set("command", command);
    env.set("argv", arguments);
    utsname host{};
    if (uname(&host) == 0) {
        env.set("host", host.nodename);
        env.set("arch", host.machine);
    }
    char folder[PATH_MAX];
    if (getcwd(folder, sizeof folder) != nullptr) env.set("wdir", folder);
    for (auto& [key, value] : env.entries)
        if (value.size() >= MPI_MAX_INFO_VAL) value.resize(MPI_MAX_INFO_VAL - 1);
    return std::move(env.entries);
}

// The command line of the process: from the program's arguments, or from the system if there are
// none. The same at any time, so without facts that only MPI_Init determines.
void create_environment(int argc, char* argv[], MPI_Info* info) {
    check_output("info", info);
    auto [command, arguments] = command_line();
    if (argc > 0 && argv != nullptr) {
        command = argv[0];
        arguments = fmt::format("{}", fmt::join(argv + 1, argv + argc, " "));
    }
    *info = handle_of(make<Info>(environment(command, arguments)));
}

}  // namespace

void make_predefined_info() {
    const auto [command, arguments] = command_line();
    Info& env = make<Info>(environment(command, arguments));
    env.set("maxprocs", std::to_string(runtime().size()));
    env.set("thread_level", level_name());
    make_predefined(env, MPI_INFO_ENV);
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Info_create = PMPI_Info_create
int PMPI_Info_create(MPI_Info* info) {
    return api_at_any_time("MPI_Info_create", [&] {
        check_output("info", info);
        *info = handle_of(make<Info>());
    });
}

#pragma weak MPI_Info_create_env = PMPI_Info_create_env
int PMPI_Info_create_env(int argc, char* argv[], MPI_Info* info) {
    return api_at_any_time("MPI_Info_create_env", [&] { create_environment(argc, argv, info); });
}

#pragma weak MPI_Info_set = PMPI_Info_set
int PMPI_Info_set(MPI_Info info, const char* key, const char* value) {
    return api_at_any_time("MPI_Info_set", [&] {
        Info& object = changeable(info);
        const std::string_view name = checked_key(key);
        if (value == nullptr) fail(MPI_ERR_INFO_VALUE, "the argument value is a null pointer");
        const std::string_view text(value);
        if (text.size() >= MPI_MAX_INFO_VAL)
            fail(MPI_ERR_INFO_VALUE, "found a value of {} characters, expected at most {}",
                 text.size(), MPI_MAX_INFO_VAL - 1);
        object.set(name, text);
    });
}

#pragma weak MPI_Info_delete = PMPI_Info_delete
int PMPI_Info_delete(MPI_Info info, const char* key) {
    return api_at_any_time("MPI_Info_delete", [&] {
        Info& object = changeable(info);
        const std::string_view name = checked_key(key);
        if (!object.erase(name)) fail(MPI_ERR_INFO_NOKEY, "the info has no key \"{}\"", name);
    });
}

#pragma weak MPI_Info_get = PMPI_Info_get
int PMPI_Info_get(MPI_Info info, const char* key, int valuelen, char* value, int* flag) {
    return api_at_any_time("MPI_Info_get", [&] {
        const Info& object = checked<Info>(info);
        const std::string_view name = checked_key(key);
        check_output("flag", flag);
        if (valuelen < 0)
            fail(MPI_ERR_ARG, "found a length of {} for the value, expected 0 or more", valuelen);
        check_output("value", value);
        const std::string* const found = object.find(name);
        *flag = found != nullptr ? 1 : 0;
        if (found != nullptr) copy_out(*found, value, std::size_t(valuelen) + 1);
    });
}

#pragma weak MPI_Info_get_string = PMPI_Info_get_string
int PMPI_Info_get_string(MPI_Info info, const char* key, int* buflen, char* value, int* flag) {
    return api_at_any_time("MPI_Info_get_string", [&] {
        const Info& object = checked<Info>(info);
        const std::string_view name = checked_key(key);
        check_output("flag", flag);
        check_output("buflen", buflen);
        if (*buflen < 0)
            fail(MPI_ERR_ARG, "found a buffer of {} characters, expected 0 or more", *buflen);
        const std::string* const found = object.find(name);
        *flag = found != nullptr ? 1 : 0;
        if (found == nullptr) return;
        if (*buflen > 0) {
            check_output("value", value);
            copy_out(*found, value, std::size_t(*buflen));
        }
        *buflen = int(found->size()) + 1;
    });
}

#pragma weak MPI_Info_get_valuelen = PMPI_Info_get_valuelen
int PMPI_Info_get_valuelen(MPI_Info info, const char* key, int* valuelen, int* flag) {
    return api_at_any_time("MPI_Info_get_valuelen", [&] {
        const Info& object = checked<Info>(info);
        const std::string_view name = checked_key(key);
        check_output("valuelen", valuelen);
        check_output("flag", flag);
        const std::string* const found = object.find(name);
        *flag = found != nullptr ? 1 : 0;
        if (found != nullptr) *valuelen = int(found->size());
    });
}

#pragma weak MPI_Info_get_nkeys = PMPI_Info_get_nkeys
int PMPI_Info_get_nkeys(MPI_Info info, int* nkeys) {
    return api_at_any_time("MPI_Info_get_nkeys", [&] {
        const Info& object = checked<Info>(info);
        check_output("nkeys", nkeys);
        *nkeys = int(object.entries.size());
    });
}

#pragma weak MPI_Info_get_nthkey = PMPI_Info_get_nthkey
int PMPI_Info_get_nthkey(MPI_Info info, int n, char* key) {
    return api_at_any_time("MPI_Info_get_nthkey", [&] {
        const Info& object = checked<Info>(info);
        check_output("key", key);
        if (n < 0 || std::size_t(n) >= object.entries.size())
            fail(MPI_ERR_ARG, "found n = {}, expected 0 or more and less than the {} keys", n,
                 object.entries.size());
        copy_out(object.entries[std::size_t(n)].first, key, MPI_MAX_INFO_KEY);
    });
}

#pragma weak MPI_Info_dup = PMPI_Info_dup
int PMPI_Info_dup(MPI_Info info, MPI_Info* newinfo) {
    return api_at_any_time("MPI_Info_dup", [&] {
        const Info& object = checked<Info>(info);
        check_output("newinfo", newinfo);
        *newinfo = handle_of(make<Info>(object.entries));
    });
}

#pragma weak MPI_Info_free = PMPI_Info_free
int PMPI_Info_free(MPI_Info* info) {
    return api_at_any_time("MPI_Info_free", [&] {
        check_output("info", info);
        release(changeable(*info));
        *info = MPI_INFO_NULL;
    });
}
}
