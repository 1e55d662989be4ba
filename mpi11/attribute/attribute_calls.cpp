// SPDX-License-Identifier: BSD-3-Clause
#include "mpi11/attribute/attribute_calls.h"

#include "mpi11/fortran/fortran_hooks.h"

namespace torusmp::mpi {
namespace {

using Convention = Keyval::Convention;
using ValueForm = AttributeValue::Form;

template <class Handle>
struct Functions;
template <>
struct Functions<MPI_Comm> {
    using Copy = MPI_Comm_copy_attr_function;
    using Delete = MPI_Comm_delete_attr_function;
    static MPI_Fint fortran(MPI_Comm handle) { return PMPI_Comm_c2f(handle); }
};
template <>
struct Functions<MPI_Datatype> {
    using Copy = MPI_Type_copy_attr_function;
    using Delete = MPI_Type_delete_attr_function;
    static MPI_Fint fortran(MPI_Datatype handle) { return PMPI_Type_c2f(handle); }
};
template <>
struct Functions<MPI_Win> {
    using Copy = MPI_Win_copy_attr_function;
    using Delete = MPI_Win_delete_attr_function;
    static MPI_Fint fortran(MPI_Win handle) { return PMPI_Win_c2f(handle); }
};

template <class Handle>
int copy(const Attributes::Entry& entry, Handle from, AttributeValue& out, bool& flag) {
    const Keyval& keyval = *entry.keyval;
    flag = keyval.copy == Keyval::Copy::always;
    out = entry.value;
    if (keyval.copy != Keyval::Copy::function) return MPI_SUCCESS;
    int copied = 0;
    if (keyval.convention == Convention::c) {
        const auto function =
            reinterpret_cast<typename Functions<Handle>::Copy*>(keyval.copy_function);
        void* value = nullptr;
        const int code = function(from, keyval.number, reinterpret_cast<void*>(keyval.extra_state),
                                  shown_in_c(entry), &value, &copied);
        out = {ValueForm::pointer, reinterpret_cast<std::intptr_t>(value)};
        flag = copied != 0;
        return code;
    }
    const bool wide = keyval.convention == Convention::fortran_address;
    out.form = wide ? ValueForm::address : ValueForm::integer;
    return call_fortran_copy(keyval.copy_function, wide, Functions<Handle>::fortran(from),
                             keyval.number, keyval.extra_state, entry.value.bits, out.bits, flag);
}

template <class Handle>
int destroy(const Attributes::Entry& entry, Handle owner) {
    const Keyval& keyval = *entry.keyval;
    if (keyval.delete_function == nullptr) return MPI_SUCCESS;
    if (keyval.convention == Convention::c) {
        const auto function =
            reinterpret_cast<typename Functions<Handle>::Delete*>(keyval.delete_function);
        return function(owner, keyval.number, shown_in_c(entry),
                        reinterpret_cast<void*>(keyval.extra_state));
    }
    return call_fortran_delete(
        keyval.delete_function, keyval.convention == Convention::fortran_address,
        Functions<Handle>::fortran(owner), keyval.number, entry.value.bits, keyval.extra_state);
}

}  // namespace

int call_copy(const Attributes::Entry& entry, MPI_Comm from, AttributeValue& out, bool& flag) {
    return copy(entry, from, out, flag);
}
int call_copy(const Attributes::Entry& entry, MPI_Datatype from, AttributeValue& out, bool& flag) {
    return copy(entry, from, out, flag);
}
int call_copy(const Attributes::Entry& entry, MPI_Win from, AttributeValue& out, bool& flag) {
    return copy(entry, from, out, flag);
}
int call_delete(const Attributes::Entry& entry, MPI_Comm owner) {
    return destroy(entry, owner);
}
int call_delete(const Attributes::Entry& entry, MPI_Datatype owner) {
    return destroy(entry, owner);
}
int call_delete(const Attributes::Entry& entry, MPI_Win owner) {
    return destroy(entry, owner);
}

}  // namespace torusmp::mpi
