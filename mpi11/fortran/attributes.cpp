// SPDX-License-Identifier: BSD-3-Clause
// Attributes in Fortran: values are INTEGERs under the names of MPI-1, and of MPI_ADDRESS_KIND
// under those of MPI-2. The predefined functions of the standard are routines that a program can
// pass, or call.
#include "mpi11/attribute/attributes.h"

#include "mpi11/datatype/datatype.h"
#include "mpi11/error/check.h"
#include "mpi11/fortran/arguments.h"
#include "mpi11/rma/window.h"

namespace torusmp::mpi {
namespace {

using Function = void();

template <class Owner>
inline constexpr Keyval::Of of = Keyval::Of::communicator;
template <>
inline constexpr Keyval::Of of<Datatype> = Keyval::Of::datatype;
template <>
inline constexpr Keyval::Of of<Window> = Keyval::Of::window;

template <class Owner>
int create_keyval(const char* call, Keyval::Convention convention, Function* copy,
                  Function* destroy, MPI_Fint* number, std::intptr_t extra_state) {
    return api(call, [&] {
        Keyval keyval;
        keyval.of = of<Owner>;
        keyval.convention = convention;
        keyval.copy = Keyval::Copy::function;
        keyval.copy_function = copy;
        keyval.delete_function = destroy;
        keyval.extra_state = extra_state;
        *number = add_keyval(keyval);
    });
}

// Value: INTEGER or MPI_ADDRESS_KIND.
template <class Value>
inline constexpr auto form =
    std::is_same_v<Value, MPI_Fint> ? AttributeValue::Form::integer : AttributeValue::Form::address;

template <class Value>
int set_on_comm(const char* call, MPI_Fint comm, int keyval, Value value) {
    return api(call, from_fortran<MPI_Comm>(comm), [&](Communicator& c) {
        set_attribute(c, keyval, AttributeValue{form<Value>, value});
    });
}

// Unchanged if there is none.
template <class Value>
void show(const Attributes::Entry* entry, Value* value, MPI_Fint* flag) {
    *flag = entry != nullptr ? 1 : 0;
    if (entry != nullptr) *value = Value(entry->value.bits);
}

template <class Value>
int get_of_comm(const char* call, MPI_Fint comm, int keyval, Value* value, MPI_Fint* flag) {
    return api(call, from_fortran<MPI_Comm>(comm), [&](Communicator& c) {
        if (const auto* const known = predefined_attribute(keyval))
            show(known, value, flag);
        else
            show(get_attribute(c, keyval).get(), value, flag);
    });
}

}  // namespace
}  // namespace torusmp::mpi

using namespace torusmp::mpi;

extern "C" {

// ---- MPI-1 ----

void pmpi_keyval_create_(Function* copy, Function* destroy, MPI_Fint* keyval,
                         const MPI_Fint* extra_state, Ierror ierror) {
    ierror = create_keyval<Communicator>("MPI_Keyval_create", Keyval::Convention::fortran_integer,
                                         copy, destroy, keyval, *extra_state);
}

void pmpi_attr_put_(const MPI_Fint* comm, const MPI_Fint* keyval, const MPI_Fint* value,
                    Ierror ierror) {
    ierror = set_on_comm("MPI_Attr_put", *comm, *keyval, *value);
}

void pmpi_attr_get_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Fint* value, MPI_Fint* flag,
                    Ierror ierror) {
    ierror = get_of_comm("MPI_Attr_get", *comm, *keyval, value, flag);
}

// ---- MPI-2 ----

void pmpi_comm_create_keyval_(Function* copy, Function* destroy, MPI_Fint* keyval,
                              const MPI_Aint* extra_state, Ierror ierror) {
    ierror =
        create_keyval<Communicator>("MPI_Comm_create_keyval", Keyval::Convention::fortran_address,
                                    copy, destroy, keyval, *extra_state);
}

void pmpi_comm_set_attr_(const MPI_Fint* comm, const MPI_Fint* keyval, const MPI_Aint* value,
                         Ierror ierror) {
    ierror = set_on_comm("MPI_Comm_set_attr", *comm, *keyval, *value);
}

void pmpi_comm_get_attr_(const MPI_Fint* comm, const MPI_Fint* keyval, MPI_Aint* value,
                         MPI_Fint* flag, Ierror ierror) {
    ierror = get_of_comm("MPI_Comm_get_attr", *comm, *keyval, value, flag);
}

void pmpi_type_create_keyval_(Function* copy, Function* destroy, MPI_Fint* keyval,
                              const MPI_Aint* extra_state, Ierror ierror) {
    ierror = create_keyval<Datatype>("MPI_Type_create_keyval", Keyval::Convention::fortran_address,
                                     copy, destroy, keyval, *extra_state);
}

void pmpi_type_set_attr_(const MPI_Fint* type, const MPI_Fint* keyval, const MPI_Aint* value,
                         Ierror ierror) {
    ierror = api("MPI_Type_set_attr", [&] {
        set_attribute(checked<Datatype>(from_fortran<MPI_Datatype>(*type)), *keyval,
                      AttributeValue{form<MPI_Aint>, *value});
    });
}

void pmpi_type_get_attr_(const MPI_Fint* type, const MPI_Fint* keyval, MPI_Aint* value,
                         MPI_Fint* flag, Ierror ierror) {
    ierror = api("MPI_Type_get_attr", [&] {
        show(get_attribute(checked<Datatype>(from_fortran<MPI_Datatype>(*type)), *keyval).get(),
             value, flag);
    });
}

void pmpi_win_create_keyval_(Function* copy, Function* destroy, MPI_Fint* keyval,
                             const MPI_Aint* extra_state, Ierror ierror) {
    ierror = create_keyval<Window>("MPI_Win_create_keyval", Keyval::Convention::fortran_address,
                                   copy, destroy, keyval, *extra_state);
}

void pmpi_win_set_attr_(const MPI_Fint* win, const MPI_Fint* keyval, const MPI_Aint* value,
                        Ierror ierror) {
    ierror = window_api("MPI_Win_set_attr", from_fortran<MPI_Win>(*win), [&](Window& window) {
        set_attribute(window, *keyval, AttributeValue{form<MPI_Aint>, *value});
    });
}

void pmpi_win_get_attr_(const MPI_Fint* win, const MPI_Fint* keyval, MPI_Aint* value,
                        MPI_Fint* flag, Ierror ierror) {
    ierror = window_api("MPI_Win_get_attr", from_fortran<MPI_Win>(*win), [&](Window& window) {
        if (const auto* const known = window.predefined_attribute(*keyval))
            show(known, value, flag);
        else
            show(get_attribute(window, *keyval).get(), value, flag);
    });
}
}

FORTRAN_NAME(keyval_create)
FORTRAN_NAME(attr_put)
FORTRAN_NAME(attr_get)
FORTRAN_NAME_F08(comm_create_keyval)
FORTRAN_NAME_F08(comm_set_attr)
FORTRAN_NAME_F08(comm_get_attr)
FORTRAN_NAME_F08(type_create_keyval)
FORTRAN_NAME_F08(type_set_attr)
FORTRAN_NAME_F08(type_get_attr)
FORTRAN_NAME_F08(win_create_keyval)
FORTRAN_NAME_F08(win_set_attr)
FORTRAN_NAME_F08(win_get_attr)

// ---- the predefined functions ----

// The families differ only in the type of values.
#define PREDEFINED(prefix, Value)                                                                 \
    extern "C" void mpi_##prefix##dup_fn_(const MPI_Fint*, const MPI_Fint*, const Value*,         \
                                          const Value* in, Value* out, MPI_Fint* flag,            \
                                          Ierror ierror) {                                        \
        *out = *in;                                                                               \
        *flag = 1;                                                                                \
        ierror = MPI_SUCCESS;                                                                     \
    }                                                                                             \
    extern "C" void mpi_##prefix##null_copy_fn_(const MPI_Fint*, const MPI_Fint*, const Value*,   \
                                                const Value*, Value*, MPI_Fint* flag,             \
                                                Ierror ierror) {                                  \
        *flag = 0;                                                                                \
        ierror = MPI_SUCCESS;                                                                     \
    }                                                                                             \
    extern "C" void mpi_##prefix##null_delete_fn_(const MPI_Fint*, const MPI_Fint*, const Value*, \
                                                  const Value*, Ierror ierror) {                  \
        ierror = MPI_SUCCESS;                                                                     \
    }

PREDEFINED(, MPI_Fint)
PREDEFINED(comm_, MPI_Aint)
PREDEFINED(type_, MPI_Aint)
PREDEFINED(win_, MPI_Aint)
