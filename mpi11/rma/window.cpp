// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/rma/window.h"

#include "job/settings.h"
#include "mpi11/environment/library.h"
#include "mpi11/ft/failures.h"

namespace torusmp::mpi {

Window::Window(Communicator& with, int made_by)
    : Object(kind_of_class), comm(with), flavor(made_by) {
    release(with);  // comm holds it now
    comm->error_handler = Reference<ErrorHandler>(*find<ErrorHandler>(MPI_ERRORS_ARE_FATAL));
    comm->name = "a window";
    const auto count = std::size_t(comm->size());
    core.members = comm->members();
    core.self = comm->rank();
    core.parts.resize(count);
    core.dynamic = dynamic();
    members.resize(count);
    locked = std::vector<std::atomic<Lock>>(count);
    const auto lock = comm->runtime().lock();
    block.emplace(comm->runtime().shared());
    comm->error_object = this;
    comm->revoke_object = [](Object& window) { static_cast<Window&>(window).revoke(); };
    // A faster member may have revoked it already.
    if (is_revoked(*comm)) revoke();
    if (library().process->settings()[job::setting::mpi_check])
        log = std::make_unique<AccessLog>(*this);
}

Window::~Window() {
    const auto lock = comm->runtime().lock();
    comm->error_object = nullptr;
    if (core.id != 0) comm->runtime().windows().remove(core);
    block.reset();
    if (memory != nullptr) comm->runtime().free(memory);
}

void Window::revoke() {
    kind = kind_when_revoked;
    comm->runtime().windows().revoke(core);
}

namespace {

void set_value(Attributes::Entry& entry, AttributeValue::Form form, std::intptr_t bits) {
    entry.value = {form, bits};
    entry.integer = int(bits);
    entry.address = bits;
}

}  // namespace

void Window::set_predefined_attributes(void* base) {
    const Member& own = members[std::size_t(core.self)];
    const auto put = [&](int number, AttributeValue::Form form, std::intptr_t bits) {
        set_value(predefined[std::size_t(number - MPI_WIN_BASE)], form, bits);
    };
    put(MPI_WIN_BASE, AttributeValue::Form::pointer, reinterpret_cast<std::intptr_t>(base));
    put(MPI_WIN_SIZE, AttributeValue::Form::address, own.size);
    put(MPI_WIN_DISP_UNIT, AttributeValue::Form::integer, own.unit);
    put(MPI_WIN_CREATE_FLAVOR, AttributeValue::Form::integer, flavor);
    put(MPI_WIN_MODEL, AttributeValue::Form::integer, MPI_WIN_UNIFIED);
}

const Attributes::Entry* Window::predefined_attribute(int number) const {
    if (number < MPI_WIN_BASE || number > MPI_WIN_MODEL) return nullptr;
    return &predefined[std::size_t(number - MPI_WIN_BASE)];
}

}  // namespace torusmp::mpi
