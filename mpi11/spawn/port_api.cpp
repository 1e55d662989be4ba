// SPDX-License-Identifier: BSD-3-Clause
// Processes of jobs that started apart (MPI-5.0, sections 11.9 and 11.10): ports, their names, and
// joining over a socket.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "config/geometry.h"
#include "launch/meeting_socket.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/spawn/joining_call.h"
#include "mpi11/spawn/port.h"
#include "mpi11/topology/topology.h"

namespace torusmp::mpi {
namespace {

struct Ports {
    std::mutex mutex;
    std::map<std::string, std::shared_ptr<Port>> open;
    std::map<std::string, std::string> published;  // by service
};

Ports& ports() {
    static Ports* const only = std::make_unique<Ports>().release();
    return *only;
}

// This machine and its network, which processes must share that meet by abstract sockets and shared
// memory: another container has another one.
std::string own_machine() {
    std::string boot(36, '\0');
    const base::Descriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
    if (!file || read(file.get(), boot.data(), boot.size()) < 0) boot.clear();
    struct stat network {};
    stat("/proc/self/ns/net", &network);
    return fmt::format("machine {} network {}", boot, network.st_ino);
}

Introduction introduction(const job::Process& job, const std::vector<int>& nodes) {
    const auto& hosts = host_names(job.settings());
    Introduction introduction;
    for (const int node : nodes)
        introduction.hosts.push_back(hosts.empty() ? own_machine() : hosts[std::size_t(node)]);
    return introduction;
}

// The nodes of the others in this job's geometry. Throws Failure.
std::vector<int> nodes_of(const Introduction& others, const job::Process& job) {
    const auto& named = host_names(job.settings());
    const std::vector<std::string> all = named.empty() ? std::vector{own_machine()} : named;
    if (others.hosts.empty()) fail(MPI_ERR_PORT, "found 0 processes, expected 1 or more");
    std::vector<int> nodes;
    for (const std::string& host : others.hosts) {
        const auto found = std::find(all.begin(), all.end(), host);
        if (found == all.end())
            fail(MPI_ERR_PORT,
                 "the other job has a process on {}, which is not a host of this job: expected jobs "
                 "on the same hosts",
                 host.starts_with("machine ") ? "another machine, or without a geometry file" : host);
        nodes.push_back(int(found - all.begin()));
    }
    return nodes;
}

void refuse(Talk& talk, const std::string& why) {
    try {
        talk.invite({.meeting = {}, .why = why, .first_side = 0, .processes = 0});
    } catch (const std::runtime_error&) {
        // It has left.
    }
}

// Connections to the other side that end before it has concluded mean that it is gone.
struct Line {
    explicit Line(std::shared_ptr<Talk> with) : talk(std::move(with)) {}
    void look() {
        if (done || gone) return;
        try {
            done = talk->receive() == concluded;
        } catch (const std::runtime_error&) {
            gone = true;
        }
    }
    std::shared_ptr<Talk> talk;
    bool done = false, gone = false;
};

void watch(Arrangement& arranged, const std::shared_ptr<Line>& line, job::Subjob* meeting) {
    arranged.given_up = [line, meeting] {
        line->look();
        return line->gone || (meeting != nullptr && meeting->ended());
    };
    arranged.why = [line] {
        return std::string(line->gone ? "the other side of the port has left" : "");
    };
}

// This side has been called: it starts the job in which both meet. Throws Failure if this side
// cannot; returns nothing if the caller cannot join, or has left.
std::optional<Arrangement> host_meeting(std::shared_ptr<Talk> talk, const Introduction& others,
                                        const job::Process& job, std::vector<int> nodes) {
    Arrangement arranged;
    arranged.place.name = new_meeting_name();
    arranged.place.first_side = int(nodes.size());
    try {
        const std::vector<int> theirs = nodes_of(others, job);
        nodes.insert(nodes.end(), theirs.begin(), theirs.end());
    } catch (const Failure& failure) {
        refuse(*talk, failure.text());
        return std::nullopt;
    }
    arranged.place.processes = int(nodes.size());
    try {
        arranged.meeting =
            start_meeting(arranged.place.name, job, nodes, arranged.place.processes);
    } catch (const std::exception& failure) {
        refuse(*talk, failure.what());
        throw;
    }
    const Invitation invitation{.meeting = arranged.place.name,
                                .why = {},
                                .first_side = arranged.place.first_side,
                                .processes = arranged.place.processes};
    try {
        talk->invite(invitation);
    } catch (const std::runtime_error&) {
        return std::nullopt;
    }
    watch(arranged, std::make_shared<Line>(talk), arranged.meeting.get());
    arranged.succeeded = [talk] { talk->conclude(); };
    return arranged;
}

// This side has called.
Arrangement visit_meeting(std::shared_ptr<Talk> talk, const Invitation& invitation) {
    if (invitation.meeting.empty())
        fail(MPI_ERR_PORT, "the other side refuses: {}", invitation.why);
    Arrangement arranged;
    arranged.place = {.name = invitation.meeting,
                      .first_side = invitation.first_side,
                      .processes = invitation.processes};
    arranged.first_index = invitation.first_side;
    const auto line = std::make_shared<Line>(std::move(talk));
    watch(arranged, line, nullptr);
    // Nothing may be left in a socket of the program.
    arranged.succeeded = [line] {
        wait_idly([&] {
            line->look();
            return line->done || line->gone;
        });
    };
    return arranged;
}

std::string await_message(Talk& talk) {
    std::optional<std::string> text;
    wait_idly([&] { return (text = talk.receive()).has_value(); });
    return *text;
}

Invitation await_invitation(Talk& talk) {
    try {
        return invitation_of(await_message(talk));
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_PORT, "{}", failure.what());
    }
}

std::shared_ptr<Port> find_port(const char* port_name) {
    check_output("port_name", port_name);
    Ports& all = ports();
    const std::lock_guard lock(all.mutex);
    const auto found = all.open.find(port_name);
    if (found == all.open.end())
        fail(MPI_ERR_PORT,
             "this process has opened no port \"{:.64}\" (expected what "
             "MPI_Open_port has returned)",
             port_name);
    return found->second;
}

Arrangement await_caller(const char* port_name, const job::Process& job,
                         const std::vector<int>& nodes) {
    const std::shared_ptr<Port> port = find_port(port_name);
    std::optional<Arrangement> arranged;
    wait_idly([&] {
        if (auto caller = port->next())
            arranged = host_meeting(std::make_shared<Talk>(std::move(caller->talk)),
                                    caller->introduction, job, nodes);
        return arranged.has_value();
    });
    return std::move(*arranged);
}

Arrangement visit_port(const char* port_name, const job::Process& job,
                       const std::vector<int>& nodes) {
    check_output("port_name", port_name);
    std::optional<Talk> talk;
    try {
        wait_idly([&] {
            return (talk = call_port(port_name, introduction(job, nodes))).has_value();
        });
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_PORT, "\"{:.64}\": {}", port_name, failure.what());
    }
    const Invitation invitation = await_invitation(*talk);
    return visit_meeting(std::make_shared<Talk>(std::move(*talk)), invitation);
}

int join_over_port(const char* name, MPI_Info info, int root, MPI_Comm from, MPI_Comm* newcomm,
                   const Arrange& arrange) {
    return api_for_new(name, from, "newcomm", newcomm, [&](Communicator& comm) {
        check_intra(comm);
        check_root(comm, root);
        return handle_of(
            join_through(comm, root, name, MPI_ERR_PORT,
                         [&](const job::Process& job, std::vector<int> nodes) {
                             entries_of(info);
                             return arrange(job, std::move(nodes));
                         }));
    });
}

// Both ends of the socket do the same; the larger number is the host. The program's socket is not
// kept.
Arrangement join_over_socket(int fd, const job::Process& job, const std::vector<int>& nodes) {
    base::Descriptor own(fcntl(fd, F_DUPFD_CLOEXEC, 0));
    int type = 0;
    socklen_t size = sizeof type;
    if (!own || getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_STREAM)
        fail(MPI_ERR_ARG, "found descriptor {}, expected a connected stream socket", fd);
    const auto talk = std::make_shared<Talk>(std::move(own));
    const std::string number = launch::random_digits();
    try {
        talk->send(number);
        const std::string other = await_message(*talk);
        if (other.size() != number.size() || other == number)
            fail(MPI_ERR_OTHER, "the other side of the socket is not in MPI_Comm_join");
        if (number < other) {
            talk->introduce(other, introduction(job, nodes));
            return visit_meeting(talk, await_invitation(*talk));
        }
        const Introduction others = introduction_of(await_message(*talk), number);
        if (auto arranged = host_meeting(talk, others, job, nodes)) return std::move(*arranged);
        nodes_of(others, job);  // says why not
        fail(MPI_ERR_OTHER, "the other side of the socket has left");
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_OTHER, "{}", failure.what());
    }
}

// Throws std::runtime_error as Failure.
template <class Body>
auto with_names(Body&& body) {
    try {
        return body();
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_OTHER, "{}", failure.what());
    }
}

}  // namespace

void close_ports() {
    Ports& all = ports();
    const std::lock_guard lock(all.mutex);
    for (const auto& [service, port] : all.published) try {
            unpublish(service, port);
        } catch (const std::runtime_error&) {
            // The folder is gone, and the name with it.
        }
    all.published.clear();
    all.open.clear();
}

}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_accept = PMPI_Comm_accept
int PMPI_Comm_accept(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                     MPI_Comm* newcomm) {
    return join_over_port(
        "MPI_Comm_accept", info, root, comm, newcomm,
        [&](const torusmp::job::Process& job, const std::vector<int>& nodes) {
            return await_caller(port_name, job, nodes);
        });
}

#pragma weak MPI_Comm_connect = PMPI_Comm_connect
int PMPI_Comm_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                      MPI_Comm* newcomm) {
    return join_over_port(
        "MPI_Comm_connect", info, root, comm, newcomm,
        [&](const torusmp::job::Process& job, const std::vector<int>& nodes) {
            return visit_port(port_name, job, nodes);
        });
}

#pragma weak MPI_Comm_join = PMPI_Comm_join
int PMPI_Comm_join(int fd, MPI_Comm* intercomm) {
    if (intercomm != nullptr) *intercomm = MPI_COMM_NULL;
    return api("MPI_Comm_join", [&] {
        check_output("intercomm", intercomm);
        *intercomm = handle_of(join_through(
            *library().self, 0, "MPI_Comm_join", MPI_ERR_OTHER,
            [&](const torusmp::job::Process& job, const std::vector<int>& nodes) {
                return join_over_socket(fd, job, nodes);
            }));
    });
}

#pragma weak MPI_Open_port = PMPI_Open_port
int PMPI_Open_port(MPI_Info info, char* port_name) {
    return api("MPI_Open_port", [&] {
        check_output("port_name", port_name);
        entries_of(info);
        auto port = with_names([] { return std::make_shared<Port>(); });
        port->name().copy(port_name, MPI_MAX_PORT_NAME - 1);
        port_name[port->name().size()] = '\0';
        Ports& all = ports();
        const std::lock_guard lock(all.mutex);
        all.open.emplace(port->name(), port);
    });
}

#pragma weak MPI_Close_port = PMPI_Close_port
int PMPI_Close_port(const char* port_name) {
    return api("MPI_Close_port", [&] {
        find_port(port_name);
        Ports& all = ports();
        const std::lock_guard lock(all.mutex);
        all.open.erase(port_name);
    });
}

#pragma weak MPI_Publish_name = PMPI_Publish_name
int PMPI_Publish_name(const char* service_name, MPI_Info info, const char* port_name) {
    return api("MPI_Publish_name", [&] {
        check_output("service_name", service_name);
        check_output("port_name", port_name);
        entries_of(info);
        if (!with_names([&] { return publish(service_name, port_name); }))
            fail(MPI_ERR_SERVICE, "the name \"{:.64}\" is published already", service_name);
        Ports& all = ports();
        const std::lock_guard lock(all.mutex);
        all.published[service_name] = port_name;
    });
}

#pragma weak MPI_Unpublish_name = PMPI_Unpublish_name
int PMPI_Unpublish_name(const char* service_name, MPI_Info info, const char* port_name) {
    return api("MPI_Unpublish_name", [&] {
        check_output("service_name", service_name);
        check_output("port_name", port_name);
        entries_of(info);
        if (!with_names([&] { return unpublish(service_name, port_name); }))
            fail(MPI_ERR_SERVICE, "the name \"{:.64}\" is not published for this port",
                 service_name);
        Ports& all = ports();
        const std::lock_guard lock(all.mutex);
        all.published.erase(service_name);
    });
}

#pragma weak MPI_Lookup_name = PMPI_Lookup_name
int PMPI_Lookup_name(const char* service_name, MPI_Info info, char* port_name) {
    return api("MPI_Lookup_name", [&] {
        check_output("service_name", service_name);
        check_output("port_name", port_name);
        entries_of(info);
        const auto port = with_names([&] { return look_up(service_name); });
        if (!port)
            fail(MPI_ERR_NAME, "no open port is published as \"{:.64}\" on this host",
                 service_name);
        port->copy(port_name, MPI_MAX_PORT_NAME - 1);
        port_name[std::min<std::size_t>(port->size(), MPI_MAX_PORT_NAME - 1)] = '\0';
    });
}
}
