/* SPDX-License-Identifier: BSD-3-Clause */
/* The C part of mixed.f. */
#include <mpi.h>
#include <string.h>

#define CHECK(condition) \
    if (!(condition)) return __LINE__

int well_(MPI_Fint* comm, MPI_Fint* type, MPI_Fint* request, MPI_Fint* key, MPI_Fint* own_key,
          MPI_Fint* status) {
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Status done;
    MPI_Request waited;
    int length, size, flag, *shown, value = 4711;
    MPI_Comm c = MPI_Comm_f2c(*comm);
    CHECK(MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) == MPI_COMM_WORLD);
    CHECK(MPI_Comm_c2f(MPI_COMM_NULL) == (MPI_Fint)0x100);
    CHECK(MPI_Comm_c2f(c) == *comm && MPI_Comm_toint(c) == *comm && MPI_Comm_fromint(*comm) == c);
    MPI_Comm_get_name(c, name, &length);
    CHECK(strcmp(name, "made in Fortran") == 0);
    MPI_Type_size(MPI_Type_f2c(*type), &size);
    CHECK(size == 8);
    CHECK(MPI_Op_f2c(MPI_Op_c2f(MPI_SUM)) == MPI_SUM);
    /* A number of another kind of object is none of this. */
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(MPI_Comm_f2c(*type), &size) == MPI_ERR_COMM);
    CHECK(MPI_Comm_size(MPI_Comm_f2c(123456789), &size) == MPI_ERR_COMM);
    CHECK(MPI_Comm_size(MPI_Comm_f2c(-5), &size) == MPI_ERR_COMM);
    /* The end of an object frees its number, which is not a handle any more. */
    {
        MPI_Comm copy;
        MPI_Fint number;
        MPI_Comm_dup(c, &copy);
        number = MPI_Comm_c2f(copy);
        MPI_Comm_free(&copy);
        CHECK(MPI_Comm_size(MPI_Comm_f2c(number), &size) == MPI_ERR_COMM);
    }

    waited = MPI_Request_f2c(*request);
    MPI_Send(&value, 1, MPI_INT, 0, 7, c);
    MPI_Wait(&waited, &done);
    *request = MPI_Request_c2f(waited);
    CHECK(MPI_Status_c2f(&done, status) == MPI_SUCCESS);
    memset(&done, 0, sizeof done);
    CHECK(MPI_Status_f2c(status, &done) == MPI_SUCCESS && done.MPI_TAG == 7);

    /* An INTEGER of Fortran is shown as the address of one. */
    MPI_Comm_get_attr(c, *key, &shown, &flag);
    CHECK(flag && *shown == -12);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, own_key, 0);
    MPI_Comm_set_attr(c, *own_key, (void*)99);
    return 0;
}

MPI_Fint fromc_(void) {
    MPI_Datatype type;
    MPI_Type_contiguous(3, MPI_DOUBLE, &type);
    return MPI_Type_c2f(type);
}
