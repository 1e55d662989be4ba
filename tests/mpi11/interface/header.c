/* SPDX-License-Identifier: BSD-3-Clause */
/* mpi.h and torusmp_mpi.h alone, as the first includes, in every language they must compile in. */
#include <mpi.h>
#include <torusmp_mpi.h>

/* Without other headers, as programs for other MPIs expect (Fenix). */
static const size_t size = 1;
static const ptrdiff_t difference = -1;

/* Handles may stand in initialisers. */
static MPI_Datatype pieces[] = {MPI_LB, MPI_INT, MPI_UB};
static MPI_Comm everybody = MPI_COMM_WORLD;

/* Programs that bridge old and new names define either by the other, so an alias must not be made
 * of the name it stands for. */
#undef MPI_LONG_LONG
#define MPI_LONG_LONG MPI_LONG_LONG_INT
#undef MPI_C_FLOAT_COMPLEX
#define MPI_C_FLOAT_COMPLEX MPI_C_COMPLEX
#undef MPI_COMM_NULL_COPY_FN
#define MPI_COMM_NULL_COPY_FN MPI_NULL_COPY_FN
#undef MPI_COMM_DUP_FN
#define MPI_COMM_DUP_FN MPI_DUP_FN
#undef MPI_COMM_NULL_DELETE_FN
#define MPI_COMM_NULL_DELETE_FN MPI_NULL_DELETE_FN
static MPI_Datatype bridged[] = {MPI_LONG_LONG, MPI_C_FLOAT_COMPLEX};

/* Error classes are all different, and the preprocessor can look at every integer. */
static int known(int class_) {
    switch (class_) {
        case MPI_SUCCESS:
        case MPI_ERR_BUFFER:
        case MPI_ERR_COUNT:
        case MPI_ERR_TYPE:
        case MPI_ERR_TAG:
        case MPI_ERR_COMM:
        case MPI_ERR_RANK:
        case MPI_ERR_REQUEST:
        case MPI_ERR_ROOT:
        case MPI_ERR_GROUP:
        case MPI_ERR_OP:
        case MPI_ERR_TOPOLOGY:
        case MPI_ERR_DIMS:
        case MPI_ERR_ARG:
        case MPI_ERR_UNKNOWN:
        case MPI_ERR_TRUNCATE:
        case MPI_ERR_OTHER:
        case MPI_ERR_INTERN:
        case MPI_ERR_PENDING:
        case MPI_ERR_IN_STATUS:
        case MPI_ERR_BASE:
        case MPI_ERR_INFO_KEY:
        case MPI_ERR_INFO_NOKEY:
        case MPI_ERR_INFO_VALUE:
        case MPI_ERR_INFO:
        case MPI_ERR_KEYVAL:
        case MPI_ERR_NAME:
        case MPI_ERR_PORT:
        case MPI_ERR_SERVICE:
        case MPI_ERR_SPAWN:
        case MPI_ERR_NO_MEM:
        case MPI_ERR_SIZE:
        case MPI_ERR_UNSUPPORTED_OPERATION:
        case MPI_ERR_PROC_ABORTED:
        case MPI_ERR_VALUE_TOO_LARGE:
        case MPI_ERR_ERRHANDLER:
        case MPI_ERR_ABI:
            return 1;
        default:
            return 0;
    }
}
#if MPI_VERSION < 5 || MPI_ANY_SOURCE >= 0 || MPI_MAX_PROCESSOR_NAME < 64
#error "not as published"
#endif

/* Callbacks have the types that programs declare. */
static void sum(void* in, void* inout, int* count, MPI_Datatype* type) {
    int i;
    if (*type != MPI_INT) return;
    for (i = 0; i < *count; i++) ((int*)inout)[i] += ((int*)in)[i];
}
static void handle(MPI_Comm* comm, int* code, ...) {
    (void)comm;
    (void)code;
}
static int keep(MPI_Comm comm, int keyval, void* state, void* in, void* out, int* flag) {
    (void)comm;
    (void)keyval;
    (void)state;
    *(void**)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

int main(int argc, char** argv) {
    MPI_User_function* operation = sum;
    MPI_Comm_errhandler_function* handler = handle;
    MPI_Handler_function* old_handler = handle;
    MPI_Copy_function* copy = keep;
    MPI_Copy_function* copies[] = {MPI_COMM_NULL_COPY_FN, MPI_COMM_DUP_FN};
    MPI_Delete_function* no_delete = MPI_COMM_NULL_DELETE_FN;
    MPI_Status status;
    MPI_Op op;
    MPI_Errhandler errors;
    int key, dimensions, one = 1, all = 0;
    if (!known(MPI_ERR_RANK) || pieces[1] != MPI_INT || old_handler != handler) return 1;
    if (size == (size_t)difference || bridged[0] == bridged[1] || copies[0] == copies[1]) return 1;
    if (PMPI_Init(&argc, &argv) != MPI_SUCCESS) return 1;
    MPI_Op_create(operation, 1, &op);
    MPI_Comm_create_errhandler(handler, &errors);
    MPI_Keyval_create(copy, no_delete, &key, 0);
    MPI_Allreduce(&one, &all, 1, MPI_INT, op, everybody);
    MPI_Recv(&all, 0, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, MPI_COMM_SELF, &status);
    TORUSMP_Dimensions(&dimensions);
    MPI_Keyval_free(&key);
    MPI_Errhandler_free(&errors);
    MPI_Op_free(&op);
    MPI_Finalize();
    return all == 1 && status.MPI_SOURCE == MPI_PROC_NULL && dimensions > 0 ? 0 : 1;
}
