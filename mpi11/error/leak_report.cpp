// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/error/leak_report.h"

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "mpi11/pt2pt/request.h"

namespace torusmp::mpi {
namespace {

template <class... Arguments>
void say(fmt::format_string<Arguments...> text, Arguments&&... arguments) {
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
            say("a request of {} on {} {}", request.call, request.comm->describe(), state);
        else
            say("a request of {}, {} bytes, tag {}, {} rank {} of {}, {}", request.call,
                request.buffer.bytes, request.tag, request.is_receive ? "from" : "to", request.peer,
                request.comm->describe(), state);
    });
}

// The communicator that a message's context belongs to; null: the context is not one of messages.
const Communicator* communicator_of(core::Context context) {
    const Communicator* found = nullptr;
    Slab<Communicator>::only().for_each([&](Communicator& comm) {
        if (comm.context() == context) found = &comm;
    });
    return found;
}

void list_messages() {
    runtime().state().for_each_unexpected([](core::Context context, const core::Status& message) {
        if (const Communicator* const comm = communicator_of(context))
            say("a message of {} bytes with tag {} from rank {} of {} was never received",
                message.bytes, message.tag, comm->rank_of(message.source), comm->describe());
    });
}

// Whether the program has made it.
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
    if (number != 0) say("{} not freed: {}", plural, number);
}

}  // namespace

void report_leaks() {
    list_requests();
    list_messages();
    count<Communicator>("communicators");
    count<Datatype>("datatypes");
    count<ErrorHandler>("error handlers");
}

}  // namespace torusmp::mpi
