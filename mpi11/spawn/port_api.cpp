// SPDX-License-Identifier: BSD-3-Clause
// Processes of jobs that started apart (MPI-5.0, sections 11.9 and 11.10): ports, their names, and
// joining over a socket.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "launch/meeting_socket.h"
#include "launch/published_names.h"
#include "mpi11/comm/agreement.h"
#include "mpi11/comm/creation.h"
#include "mpi11/environment/info.h"
#include "mpi11/spawn/joining_call.h"
#include "mpi11/spawn/meeting.h"
#include "mpi11/spawn/port.h"
#include "mpi11/spawn/port_call.h"
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

std::shared_ptr<Port> find_port(const char* port_name) {
    check_output("port_name", port_name);
    Ports& all = ports();
    const std::lock_guard lock(all.mutex);
    const auto found = all.open.find(port_name);
    if (found == all.open.end())
        fail(MPI_ERR_PORT,
             "this process has not opened the port \"{:.64}\" (expected a name that "
             "MPI_Open_port returned)",
             port_name);
    return found->second;
}

Arrangement await_caller(const char* port_name, const job::Process& job,
                         const std::vector<int>& nodes) {
    const std::shared_ptr<Port> port = find_port(port_name);
    std::optional<Arrangement> arranged;
    wait_idly([&] {
        if (auto caller = port->next())
            arranged = host_meeting(std::make_shared<SocketTalk>(std::move(caller->talk)),
                                    caller->introduction, job, nodes);
        return arranged.has_value();
    });
    return std::move(*arranged);
}

Arrangement visit_port(const char* port_name, const job::Process& job,
                       const std::vector<int>& nodes) {
    check_output("port_name", port_name);
    std::shared_ptr<Talk> talk;
    try {
        talk = call_port(port_name, introduction(job, nodes), job);
    } catch (const std::runtime_error& failure) {
        fail(MPI_ERR_PORT, "\"{:.64}\": {}", port_name, failure.what());
    }
    const Invitation invitation = await_invitation(*talk);
    return visit_meeting(std::move(talk), invitation);
}

int join_over_port(const char* name, MPI_Info info, int root, MPI_Comm from, MPI_Comm* newcomm,
                   const Arrange& arrange) {
    return api_for_new(name, from, "newcomm", newcomm, [&](Communicator& comm) {
        check_intra(comm);
        check_root(comm, root);
        return handle_of(join_through(comm, root, name, MPI_ERR_PORT,
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
    const auto talk = std::make_shared<SocketTalk>(std::move(own));
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
        return host_only_meeting(talk, others, job, nodes);
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
            launch::unpublish(service, port);
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
    return join_over_port("MPI_Comm_accept", info, root, comm, newcomm,
                          [&](const torusmp::job::Process& job, const std::vector<int>& nodes) {
                              return await_caller(port_name, job, nodes);
                          });
}

#pragma weak MPI_Comm_connect = PMPI_Comm_connect
int PMPI_Comm_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm,
                      MPI_Comm* newcomm) {
    return join_over_port("MPI_Comm_connect", info, root, comm, newcomm,
                          [&](const torusmp::job::Process& job, const std::vector<int>& nodes) {
                              return visit_port(port_name, job, nodes);
                          });
}

#pragma weak MPI_Comm_join = PMPI_Comm_join
int PMPI_Comm_join(int fd, MPI_Comm* intercomm) {
    if (intercomm != nullptr) *intercomm = MPI_COMM_NULL;
    return api("MPI_Comm_join", [&] {
        check_output("intercomm", intercomm);
        *intercomm = handle_of(
            join_through(*library().self, 0, "MPI_Comm_join", MPI_ERR_OTHER,
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
        auto port = with_names([] { return std::make_shared<Port>(own_host(*library().process)); });
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
        if (!with_names([&] {
                return !look_up_on_hosts(service_name, *library().process, Hosts::of_job) &&
                       torusmp::launch::publish(service_name, port_name);
            }))
            fail(MPI_ERR_SERVICE, "the name \"{:.64}\" is already published", service_name);
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
        if (!with_names([&] { return torusmp::launch::unpublish(service_name, port_name); }))
            fail(MPI_ERR_SERVICE, "the name \"{:.64}\" is not published for this port on this host",
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
        const auto port = with_names(
            [&] { return look_up_on_hosts(service_name, *library().process, Hosts::of_machine); });
        if (!port)
            fail(MPI_ERR_NAME, "no open port is published as \"{:.64}\" on a host of the machine",
                 service_name);
        port->copy(port_name, MPI_MAX_PORT_NAME - 1);
        port_name[std::min<std::size_t>(port->size(), MPI_MAX_PORT_NAME - 1)] = '\0';
    });
}
}
