// SPDX-License-Identifier: BSD-3-Clause
// Attributes of communicators, under the names of MPI-1 (section 5.7) and of MPI-2 (6.7), of datatypes
// and of windows.
#include "mpi11/attribute/attributes.h"
#include "mpi11/datatype/datatype.h"
#include "mpi11/error/check.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

template <class Owner, class Copy, class Delete>
int create_keyval(const char* call, Copy* copy, Delete* destroy, int* number, void* extra_state) {
    return api(call, [&] {
        check_output("keyval", number);
        Keyval keyval;
        keyval.of = of_owner<Owner>;
        // The predefined functions are small integers, the same for both kinds.
        const auto predefined = reinterpret_cast<std::uintptr_t>(copy);
        keyval.copy = predefined == 0   ? Keyval::Copy::never
                      : predefined == 1 ? Keyval::Copy::always
                                        : Keyval::Copy::function;
        keyval.copy_function = reinterpret_cast<void (*)()>(copy);
        keyval.delete_function = reinterpret_cast<void (*)()>(destroy);
        keyval.extra_state = reinterpret_cast<std::intptr_t>(extra_state);
        *number = add_keyval(keyval);
    });
}

template <class Owner>
int free_key(const char* call, int* number) {
    return api(call, [&] {
        check_output("keyval", number);
        free_keyval(*number, of_owner<Owner>);
        *number = MPI_KEYVAL_INVALID;
    });
}

AttributeValue pointer(void* value) {
    return {AttributeValue::Form::pointer, reinterpret_cast<std::intptr_t>(value)};
}

// The output of MPI_..._get_attr.
void show(const Attributes::Entry* entry, void* value, int* flag) {
    *flag = entry != nullptr ? 1 : 0;
    if (entry != nullptr) *static_cast<void**>(value) = shown_in_c(*entry);
}

int put(const char* call, MPI_Comm comm, int keyval, void* value) {
    return api(call, comm, [&](Communicator& c) { set_attribute(c, keyval, pointer(value)); });
}

int get(const char* call, MPI_Comm comm, int keyval, void* value, int* flag) {
    return api(call, comm, [&](Communicator& c) {
        check_output("attribute_val", value);
        check_output("flag", flag);
        if (const auto* const known = predefined_attribute(keyval))
            show(known, value, flag);
        else
            show(get_attribute(c, keyval).get(), value, flag);
    });
}

int remove(const char* call, MPI_Comm comm, int keyval) {
    return api(call, comm, [&](Communicator& c) { delete_attribute(c, keyval); });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

#pragma weak MPI_Comm_create_keyval = PMPI_Comm_create_keyval
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy,
                            MPI_Comm_delete_attr_function* destroy, int* keyval,
                            void* extra_state) {
    return create_keyval<Communicator>("MPI_Comm_create_keyval", copy, destroy, keyval,
                                       extra_state);
}

#pragma weak MPI_Keyval_create = PMPI_Keyval_create
int PMPI_Keyval_create(MPI_Copy_function* copy, MPI_Delete_function* destroy, int* keyval,
                       void* extra_state) {
    return create_keyval<Communicator>("MPI_Keyval_create", copy, destroy, keyval, extra_state);
}

#pragma weak MPI_Comm_free_keyval = PMPI_Comm_free_keyval
int PMPI_Comm_free_keyval(int* keyval) {
    return free_key<Communicator>("MPI_Comm_free_keyval", keyval);
}

#pragma weak MPI_Keyval_free = PMPI_Keyval_free
int PMPI_Keyval_free(int* keyval) {
    return free_key<Communicator>("MPI_Keyval_free", keyval);
}

#pragma weak MPI_Comm_set_attr = PMPI_Comm_set_attr
int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void* value) {
    return put("MPI_Comm_set_attr", comm, keyval, value);
}

#pragma weak MPI_Attr_put = PMPI_Attr_put
int PMPI_Attr_put(MPI_Comm comm, int keyval, void* value) {
    return put("MPI_Attr_put", comm, keyval, value);
}

#pragma weak MPI_Comm_get_attr = PMPI_Comm_get_attr
int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void* value, int* flag) {
    return get("MPI_Comm_get_attr", comm, keyval, value, flag);
}

#pragma weak MPI_Attr_get = PMPI_Attr_get
int PMPI_Attr_get(MPI_Comm comm, int keyval, void* value, int* flag) {
    return get("MPI_Attr_get", comm, keyval, value, flag);
}

#pragma weak MPI_Comm_delete_attr = PMPI_Comm_delete_attr
int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval) {
    return remove("MPI_Comm_delete_attr", comm, keyval);
}

#pragma weak MPI_Attr_delete = PMPI_Attr_delete
int PMPI_Attr_delete(MPI_Comm comm, int keyval) {
    return remove("MPI_Attr_delete", comm, keyval);
}

#pragma weak MPI_Type_create_keyval = PMPI_Type_create_keyval
int PMPI_Type_create_keyval(MPI_Type_copy_attr_function* copy,
                            MPI_Type_delete_attr_function* destroy, int* keyval,
                            void* extra_state) {
    return create_keyval<Datatype>("MPI_Type_create_keyval", copy, destroy, keyval, extra_state);
}

#pragma weak MPI_Type_free_keyval = PMPI_Type_free_keyval
int PMPI_Type_free_keyval(int* keyval) {
    return free_key<Datatype>("MPI_Type_free_keyval", keyval);
}

#pragma weak MPI_Type_set_attr = PMPI_Type_set_attr
int PMPI_Type_set_attr(MPI_Datatype datatype, int keyval, void* value) {
    return api("MPI_Type_set_attr",
               [&] { set_attribute(checked<Datatype>(datatype), keyval, pointer(value)); });
}

#pragma weak MPI_Type_get_attr = PMPI_Type_get_attr
int PMPI_Type_get_attr(MPI_Datatype datatype, int keyval, void* value, int* flag) {
    return api("MPI_Type_get_attr", [&] {
        Datatype& type = checked<Datatype>(datatype);
        check_output("attribute_val", value);
        check_output("flag", flag);
        show(get_attribute(type, keyval).get(), value, flag);
    });
}

#pragma weak MPI_Type_delete_attr = PMPI_Type_delete_attr
int PMPI_Type_delete_attr(MPI_Datatype datatype, int keyval) {
    return api("MPI_Type_delete_attr",
               [&] { delete_attribute(checked<Datatype>(datatype), keyval); });
}

#pragma weak MPI_Win_create_keyval = PMPI_Win_create_keyval
int PMPI_Win_create_keyval(MPI_Win_copy_attr_function* copy, MPI_Win_delete_attr_function* destroy,
                           int* keyval, void* extra_state) {
    return create_keyval<Window>("MPI_Win_create_keyval", copy, destroy, keyval, extra_state);
}

#pragma weak MPI_Win_free_keyval = PMPI_Win_free_keyval
int PMPI_Win_free_keyval(int* keyval) {
    return free_key<Window>("MPI_Win_free_keyval", keyval);
}

#pragma weak MPI_Win_set_attr = PMPI_Win_set_attr
int PMPI_Win_set_attr(MPI_Win win, int keyval, void* value) {
    return window_api("MPI_Win_set_attr", win,
                      [&](Window& window) { set_attribute(window, keyval, pointer(value)); });
}

#pragma weak MPI_Win_get_attr = PMPI_Win_get_attr
int PMPI_Win_get_attr(MPI_Win win, int keyval, void* value, int* flag) {
    return window_api("MPI_Win_get_attr", win, [&](Window& window) {
        check_output("attribute_val", value);
        check_output("flag", flag);
        if (const auto* const known = window.predefined_attribute(keyval))
            show(known, value, flag);
        else
            show(get_attribute(window, keyval).get(), value, flag);
    });
}

#pragma weak MPI_Win_delete_attr = PMPI_Win_delete_attr
int PMPI_Win_delete_attr(MPI_Win win, int keyval) {
    return window_api("MPI_Win_delete_attr", win,
                      [&](Window& window) { delete_attribute(window, keyval); });
}
}
