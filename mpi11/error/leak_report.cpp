// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/leak_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "job/hang/summary.h"
#include "mpi11/file/file.h"
#include "mpi11/pt2pt/request.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

template <class... Arguments>
void print_line(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
    fmt::print(stderr, "MPI_Finalize: rank {}: {}\n", hot.world->rank(),
               fmt::format(text, std::forward<Arguments>(arguments)...));
}

void list_requests() {
    Request::for_each([](const Request& request) {
        const char* const state = !request.active ? "that was not freed"
                                  : request.complete()
                                      ? "that is complete, but was never waited for"
                                      : "that is not complete";
        if (request.what == Request::What::work)
            print_line("a request of {} on {} {}", request.call, request.comm->describe(), state);
        else
            print_line("a request of {}, {} bytes, tag {}, {} rank {} of {}, {}", request.call,
                       request.buffer.bytes, request.tag, request.is_receive ? "from" : "to",
                       request.peer, request.comm->describe(), state);
    });
}

void list_messages() {
    for (const std::string& line : job::describe_leftovers(runtime().state().waits()))
        print_line("{}", line);
}

// Whether the program has created it.
bool is_own(const Object& object) {
    return object.constant == 0;
}
bool is_own(const Datatype& type) {
    return !type.predefined();
}

template <class T>
void count(const char* plural) {
    std::size_t number = 0;
    Slab<T>::only().for_each([&](T& object) { number += is_own(object) ? 1 : 0; });
    if (number != 0) print_line("{} not freed: {}", plural, number);
}

void list_open_epochs() {
    Slab<Window>::only().for_each([](const Window& window) {
        if (const char* const epoch = window.open_epoch())
            print_line("{} has an open epoch of {}", window.comm->describe(), epoch);
    });
}

}  // namespace

void report_leaks() {
    list_requests();
    list_messages();
    count<Communicator>("communicators");
    count<File>("files");
    count<Window>("windows");
    list_open_epochs();
    count<Datatype>("datatypes");
    count<ErrorHandler>("error handlers");
}

}  // namespace torusmp::mpi
