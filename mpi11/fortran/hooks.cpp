// SPDX-License-Identifier: BSD-3-Clause
// Calls into functions written in Fortran.
#include "mpi11/fortran/fortran_hooks.h"

namespace torusmp::mpi {

void call_fortran_error_handler(MPI_Comm_errhandler_function* handler, MPI_Fint object, int& code) {
    reinterpret_cast<void (*)(MPI_Fint*, MPI_Fint*)>(handler)(&object, &code);
}

namespace {

template <class Count>
void call_operation(void (*operation)(), void* in, void* inout, Count& count, MPI_Datatype type) {
    MPI_Fint number = PMPI_Type_c2f(type);
    reinterpret_cast<void (*)(void*, void*, Count*, MPI_Fint*)>(operation)(in, inout, &count,
                                                                           &number);
}

}  // namespace

void call_fortran_operation(MPI_User_function* operation, void* in, void* inout, int& count,
                            MPI_Datatype type) {
    call_operation(reinterpret_cast<void (*)()>(operation), in, inout, count, type);
}

void call_fortran_operation(MPI_User_function_c* operation, void* in, void* inout, MPI_Count& count,
                            MPI_Datatype type) {
    call_operation(reinterpret_cast<void (*)()>(operation), in, inout, count, type);
}

namespace {

// A LOGICAL of gfortran is true if its lowest bit is set.
template <class Integer>
int call_copy(void (*function)(), MPI_Fint old, int keyval, MPI_Aint extra, MPI_Aint in,
              MPI_Aint& out, bool& flag) {
    using Copy = void(MPI_Fint*, MPI_Fint*, Integer*, Integer*, Integer*, MPI_Fint*, MPI_Fint*);
    Integer extra_state = Integer(extra), value = Integer(in), copy = 0;
    MPI_Fint copied = 0, code = MPI_SUCCESS;
    reinterpret_cast<Copy*>(function)(&old, &keyval, &extra_state, &value, &copy, &copied, &code);
    out = copy;
    flag = (copied & 1) != 0;
    return code;
}

template <class Integer>
int call_delete(void (*function)(), MPI_Fint object, int keyval, MPI_Aint value, MPI_Aint extra) {
    using Delete = void(MPI_Fint*, MPI_Fint*, Integer*, Integer*, MPI_Fint*);
    Integer attribute = Integer(value), extra_state = Integer(extra);
    MPI_Fint code = MPI_SUCCESS;
    reinterpret_cast<Delete*>(function)(&object, &keyval, &attribute, &extra_state, &code);
    return code;
}

}  // namespace

int call_fortran_copy(void (*function)(), bool wide, MPI_Fint old, int keyval, MPI_Aint extra,
                      MPI_Aint in, MPI_Aint& out, bool& flag) {
    return wide ? call_copy<MPI_Aint>(function, old, keyval, extra, in, out, flag)
                : call_copy<MPI_Fint>(function, old, keyval, extra, in, out, flag);
}

int call_fortran_delete(void (*function)(), bool wide, MPI_Fint object, int keyval, MPI_Aint value,
                        MPI_Aint extra) {
    return wide ? call_delete<MPI_Aint>(function, object, keyval, value, extra)
                : call_delete<MPI_Fint>(function, object, keyval, value, extra);
}

int call_fortran_query(void (*function)(), void* extra, MPI_Status& status) {
    MPI_Fint code = MPI_SUCCESS;
    reinterpret_cast<void (*)(void*, MPI_Status*, MPI_Fint*)>(function)(extra, &status, &code);
    return code;
}

int call_fortran_extent(void (*function)(), MPI_Datatype type, MPI_Aint& extent, void* extra) {
    MPI_Fint number = PMPI_Type_c2f(type), code = MPI_SUCCESS;
    reinterpret_cast<void (*)(MPI_Fint*, MPI_Aint*, void*, MPI_Fint*)>(function)(&number, &extent,
                                                                                 extra, &code);
    return code;
}

namespace {

template <class Count>
int call_conversion(void (*function)(), void* user, MPI_Datatype type, Count count, void* file,
                    void* extra) {
    MPI_Fint number = PMPI_Type_c2f(type), code = MPI_SUCCESS;
    MPI_Offset position = 0;
    reinterpret_cast<void (*)(void*, MPI_Fint*, Count*, void*, MPI_Offset*, void*, MPI_Fint*)>(
        function)(user, &number, &count, file, &position, extra, &code);
    return code;
}

}  // namespace

int call_fortran_conversion(void (*function)(), bool wide, void* user, MPI_Datatype type,
                            MPI_Count count, void* file, void* extra) {
    return wide ? call_conversion(function, user, type, count, file, extra)
                : call_conversion(function, user, type, MPI_Fint(count), file, extra);
}

int call_fortran_free(void (*function)(), void* extra) {
    MPI_Fint code = MPI_SUCCESS;
    reinterpret_cast<void (*)(void*, MPI_Fint*)>(function)(extra, &code);
    return code;
}

int call_fortran_cancel(void (*function)(), void* extra, bool complete) {
    MPI_Fint flag = complete ? 1 : 0, code = MPI_SUCCESS;
    reinterpret_cast<void (*)(void*, MPI_Fint*, MPI_Fint*)>(function)(extra, &flag, &code);
    return code;
}

}  // namespace torusmp::mpi
