/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions within one group: operations, functions of the program, in place or not, with all
 * forms and roots. */
#include "collective_forms.h"

#include <math.h>

static const int sizes[] = {0, 1, 5, 3001};
enum { SIZES = 4, MOST = 3001 };

/* Rank r contributes value(r, i) as element i. */
static int value(int r, int i) {
    return (r * 7 + i * 3) % 11 + 1;
}

static int *mine, *result;

static void put_values(int* to, int n) {
    int i;
    for (i = 0; i < n; i++) to[i] = value(me, i);
}

/* Over ranks 0 to last. */
static int expected(MPI_Op op, int last, int i) {
    int r, all = value(0, i);
    for (r = 1; r <= last; r++) {
        int v = value(r, i);
        if (op == MPI_SUM) all += v;
        if (op == MPI_MAX) all = v > all ? v : all;
        if (op == MPI_MIN) all = v < all ? v : all;
        if (op == MPI_BXOR) all ^= v;
        if (op == MPI_LAND) all = all && v;
    }
    return op == MPI_LAND ? all != 0 : all;
}

#define EACH_CASE                                   \
    for (int form = 0; form < FORMS; form++)        \
        for (int s = 0; s < SIZES; s++)             \
            for (int place = 0; place < 2; place++) \
                for (int n = sizes[s], once = 1; once; once = 0)

static void reduces(void) {
    static const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR};
    EACH_CASE {
        for (int root = 0; root < ranks; root++) {
            MPI_Op op = ops[root % 4];
            int i;
            put_values(mine, n);
            for (i = 0; i < n; i++) result[i] = UNTOUCHED;
            if (place && me == root) put_values(result, n);
            CALL(form, Reduce, Ireduce, place && me == root ? MPI_IN_PLACE : (void*)mine,
                 me == root ? result : NULL, n, MPI_INT, op, root, MPI_COMM_WORLD);
            for (i = 0; i < n; i++) {
                CHECK(mine[i] == value(me, i));
                CHECK(result[i] == (me == root ? expected(op, ranks - 1, i) : UNTOUCHED));
            }
        }
    }
}

static void allreduces(void) {
    EACH_CASE {
        int i;
        put_values(place ? result : mine, n);
        CALL(form, Allreduce, Iallreduce, place ? MPI_IN_PLACE : (void*)mine, result, n, MPI_INT,
             MPI_SUM, MPI_COMM_WORLD);
        for (i = 0; i < n; i++) CHECK(result[i] == expected(MPI_SUM, ranks - 1, i));
    }
}

static void scans(void) {
    EACH_CASE {
        int i;
        put_values(place ? result : mine, n);
        CALL(form, Scan, Iscan, place ? MPI_IN_PLACE : (void*)mine, result, n, MPI_INT, MPI_SUM,
             MPI_COMM_WORLD);
        for (i = 0; i < n; i++) CHECK(result[i] == expected(MPI_SUM, me, i));
        put_values(place ? result : mine, n);
        /* The first rank has no result, so it needs no memory for one. */
        CALL(form, Exscan, Iexscan, place ? MPI_IN_PLACE : (void*)mine,
             me == 0 && !place ? NULL : result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (i = 0; i < n && me > 0; i++) CHECK(result[i] == expected(MPI_SUM, me - 1, i));
    }
}

static void reduce_scatters(void) {
    EACH_CASE {
        Count* counts = malloc(sizeof(Count) * (size_t)ranks);
        int r, i, first = 0, total = 0;
        int* all;
        if (n > 400) n = 400;
        all = malloc(sizeof(int) * (size_t)(3 * n * ranks + 1));
        for (r = 0; r < ranks; r++) {
            counts[r] = r % 3 * n;
            if (r == me) first = total;
            total += counts[r];
        }
        put_values(all, total);
        CALL(form, Reduce_scatter, Ireduce_scatter, place ? MPI_IN_PLACE : (void*)all,
             place ? all : result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (i = 0; i < counts[me]; i++)
            CHECK((place ? all : result)[i] == expected(MPI_SUM, ranks - 1, first + i));
        put_values(all, n * ranks);
        CALL(form, Reduce_scatter_block, Ireduce_scatter_block, place ? MPI_IN_PLACE : (void*)all,
             place ? all : result, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (i = 0; i < n; i++)
            CHECK((place ? all : result)[i] == expected(MPI_SUM, ranks - 1, me * n + i));
        free(all);
        free(counts);
    }
}

/* ---- functions of the program ---- */

/* Affine maps x -> a x + b modulo a prime: their composition does not commute. Any pair of int. */
enum { PRIME = 10007 };

static int calls_with_type_wrong;
static MPI_Datatype expected_type;

static void compose(int* first, int stride, int second, int* then, int len) {
    int i;
    for (i = 0; i < len; i++, first += stride, then += stride) {
        int a = first[0], b = first[second], c = then[0], d = then[second];
        /* The first operand is applied first. */
        then[0] = (int)((long)a * c % PRIME);
        then[second] = (int)(((long)c * b + d) % PRIME);
    }
}
static void compose_tight(void* in, void* inout, Count* len, MPI_Datatype* type) {
    calls_with_type_wrong += *type != expected_type;
    compose(in, tight.stride, tight.second, inout, *len);
}
static void compose_gappy(void* in, void* inout, Count* len, MPI_Datatype* type) {
    calls_with_type_wrong += *type != expected_type;
    compose(in, gappy.stride, gappy.second, inout, *len);
}

static void put_maps(const Elements* kind, int* memory, int n, int r) {
    int i;
    for (i = 0; i < n; i++) {
        memory[i * kind->stride] = r * 5 + i % 7 + 2;
        memory[i * kind->stride + kind->second] = r + i % 13;
    }
}

/* The maps of ranks 0 to last, composed. */
static int maps_are(const Elements* kind, const int* memory, int n, int last) {
    int i, r, k;
    int* all = malloc(sizeof(int) * (size_t)(2 * n + 1));
    int* next = malloc(sizeof(int) * (size_t)(2 * n + 1));
    put_maps(&tight, all, n, 0);
    for (r = 1; r <= last; r++) {
        put_maps(&tight, next, n, r);
        compose(all, 2, 1, next, n);
        memcpy(all, next, sizeof(int) * (size_t)(2 * n));
    }
    for (i = 0; i < n; i++)
        for (k = 0; k < kind->stride; k++) {
            int wanted = k == 0 ? all[2 * i] : k == kind->second ? all[2 * i + 1] : UNTOUCHED;
            if (memory[i * kind->stride + k] != wanted) return 0;
        }
    free(all);
    free(next);
    return 1;
}

static void functions_that_do_not_commute(void) {
    int which, root, form, n, turn;
    for (which = 0; which < 2; which++) {
        const Elements* kind = which ? &gappy : &tight;
        MPI_Op op;
        int flag = 1;
        CHECK(CALLED(Op_create)(which ? compose_gappy : compose_tight, 0, &op) == MPI_SUCCESS);
        CHECK(MPI_Op_commutative(op, &flag) == MPI_SUCCESS && flag == 0);
        expected_type = kind->type;
        for (form = 0; form < FORMS; form++)
            for (turn = 0; turn < 3; turn++) {
                int* in;
                int* out;
                n = turn == 0 ? 1 : turn == 1 ? 6 : 2500;
                in = new_elements(kind, n);
                out = new_elements(kind, n);
                put_maps(kind, in, n, me);
                CALL(form, Allreduce, Iallreduce, in, out, n, kind->type, op, MPI_COMM_WORLD);
                CHECK(maps_are(kind, out, n, ranks - 1));
                for (root = 0; root < ranks; root += 2) {
                    CALL(form, Reduce, Ireduce, in, out, n, kind->type, op, root, MPI_COMM_WORLD);
                    if (me == root) CHECK(maps_are(kind, out, n, ranks - 1));
                }
                CALL(form, Scan, Iscan, in, out, n, kind->type, op, MPI_COMM_WORLD);
                CHECK(maps_are(kind, out, n, me));
                CALL(form, Exscan, Iexscan, in, out, n, kind->type, op, MPI_COMM_WORLD);
                if (me > 0) CHECK(maps_are(kind, out, n, me - 1));
                put_maps(kind, out, n, me);
                CALL(form, Allreduce, Iallreduce, MPI_IN_PLACE, out, n, kind->type, op,
                     MPI_COMM_WORLD);
                CHECK(maps_are(kind, out, n, ranks - 1));
                free(in);
                free(out);
            }
        {
            /* Freed at once, as the standard allows. */
            MPI_Request request;
            int* in = new_elements(kind, 3);
            int* out = new_elements(kind, 3);
            put_maps(kind, in, 3, me);
            CHECK(MPI_Iallreduce(in, out, 3, kind->type, op, MPI_COMM_WORLD, &request) == 0);
            CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
            CHECK(op == MPI_OP_NULL);
            CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(maps_are(kind, out, 3, ranks - 1));
            free(in);
            free(out);
        }
        CHECK(calls_with_type_wrong == 0);
    }
}

/* The blocks of a reduce-scatter, in the order of the ranks. */
static void blocks_that_do_not_commute(void) {
    int which;
    for (which = 0; which < 2; which++) {
        const Elements* kind = which ? &gappy : &tight;
        int n = 5, i, *in = new_elements(kind, n * ranks), *out = new_elements(kind, n);
        MPI_Op op;
        CHECK(CALLED(Op_create)(which ? compose_gappy : compose_tight, 0, &op) == MPI_SUCCESS);
        expected_type = kind->type;
        for (i = 0; i < ranks; i++) put_maps(kind, in + i * n * kind->stride, n, me);
        CHECK(MPI_Reduce_scatter_block(in, out, n, kind->type, op, MPI_COMM_WORLD) == 0);
        CHECK(maps_are(kind, out, n, ranks - 1));
        CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
        free(in);
        free(out);
    }
}

static void add_ints(void* in, void* inout, Count* len, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i < *len; i++) ((int*)inout)[i] += ((int*)in)[i];
}

static void local_reductions(void) {
    int a[4] = {1, 2, 3, 4}, b[4] = {10, 20, 30, 40}, i;
    struct {
        double value;
        int index;
    } x = {1.5, 3}, y = {1.5, 2};
    MPI_Op op;
    CHECK(CALLED(Reduce_local)(a, b, 4, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    for (i = 0; i < 4; i++) CHECK(b[i] == 11 * (i + 1));
    CHECK(CALLED(Reduce_local)(&x, &y, 1, MPI_DOUBLE_INT, MPI_MINLOC) == MPI_SUCCESS);
    CHECK(y.value == 1.5 && y.index == 2);
    CHECK(CALLED(Op_create)(add_ints, 1, &op) == MPI_SUCCESS);
    CHECK(CALLED(Reduce_local)(a, b, 4, MPI_INT, op) == MPI_SUCCESS);
    for (i = 0; i < 4; i++) CHECK(b[i] == 12 * (i + 1));
    put_values(mine, MOST);
    CHECK(MPI_Allreduce(mine, result, MOST, MPI_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (i = 0; i < MOST; i++) CHECK(result[i] == expected(MPI_SUM, ranks - 1, i));
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
    put_maps(&tight, a, 2, 3);
    put_maps(&tight, b, 2, 4);
    CHECK(CALLED(Op_create)(compose_tight, 0, &op) == MPI_SUCCESS);
    expected_type = tight.type;
    {
        int c[4];
        memcpy(c, b, sizeof c);
        compose(a, 2, 1, c, 2);
        CHECK(CALLED(Reduce_local)(a, b, 2, tight.type, op) == MPI_SUCCESS);
        CHECK(memcmp(b, c, sizeof c) == 0);
    }
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
}

/* Keeps what it finds if values, the even elements, are equal: a program may call this commutative,
 * and expects the same result on all ranks. */
static void larger(void* in, void* inout, Count* len, MPI_Datatype* type) {
    int i;
    (void)type;
    for (i = 0; i < *len; i++)
        if (((int*)in)[2 * i] > ((int*)inout)[2 * i])
            memcpy((int*)inout + 2 * i, (int*)in + 2 * i, 2 * sizeof(int));
}

static void same_ties(void) {
    enum { N = 3000 };
    static int in[2 * N], out[2 * N], of_root[2 * N];
    const int counts[] = {1, 200, N};
    int i, k, in_place;
    MPI_Op op;
    MPI_Datatype pair;
    CHECK(MPI_Type_contiguous(2, MPI_INT, &pair) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&pair) == MPI_SUCCESS);
    CHECK(CALLED(Op_create)(larger, 1, &op) == MPI_SUCCESS);
    for (k = 0; k < 3; k++)
        for (in_place = 0; in_place < 2; in_place++) {
            for (i = 0; i < N; i++) in[2 * i] = i % 3 == me % 3, in[2 * i + 1] = me;
            memcpy(out, in, sizeof in);
            CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, counts[k], pair, op,
                                MPI_COMM_WORLD) == MPI_SUCCESS);
            memcpy(of_root, out, sizeof out);
            CHECK(MPI_Bcast(of_root, counts[k], pair, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
            CHECK(memcmp(of_root, out, (size_t)counts[k] * 2 * sizeof(int)) == 0);
        }
    CHECK(MPI_Type_free(&pair) == MPI_SUCCESS);
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
}

/* Rounding makes the order of additions visible: it must not depend on the run or on the form. */
static void same_bits(void) {
    enum { N = 333 };
    static double in[N], first[N], again[N];
    int i, turn;
    for (i = 0; i < N; i++) in[i] = 1.0 / (me + 1) + sqrt((double)i);
    CHECK(MPI_Allreduce(in, first, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (turn = 0; turn < 6; turn++) {
        CALL(turn % FORMS, Allreduce, Iallreduce, in, again, N, MPI_DOUBLE, MPI_SUM,
             MPI_COMM_WORLD);
        CHECK(memcmp(first, again, sizeof first) == 0);
    }
    memcpy(again, first, sizeof again);
    CHECK(MPI_Bcast(again, N, MPI_DOUBLE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(memcmp(first, again, sizeof first) == 0);
}

static void wrong_arguments(void) {
    static double a[8], b[8];
    int counts[64] = {0};
    MPI_Op op = MPI_SUM, none;
    MPI_Request request;
    if (ranks > 64) return;
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN) == MPI_SUCCESS);
#define REDUCE(type, op) MPI_Allreduce(a, b, 1, type, op, MPI_COMM_WORLD)
    CHECK_CLASS(REDUCE(MPI_DOUBLE, MPI_OP_NULL), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_DOUBLE, MPI_BAND), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_DOUBLE, MPI_LAND), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_DOUBLE, MPI_MAXLOC), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_DOUBLE_INT, MPI_SUM), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_C_DOUBLE_COMPLEX, MPI_MAX), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_BYTE, MPI_SUM), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_LOGICAL, MPI_BOR), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_PACKED, MPI_BOR), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(gappy.type, MPI_SUM), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_INT, MPI_REPLACE), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_INT, MPI_NO_OP), MPI_ERR_OP);
    CHECK_CLASS(REDUCE(MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Allreduce(a, b, -1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Allreduce(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(a, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
                MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(NULL, b, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Iallreduce(a, b, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD, &request),
                MPI_ERR_OP);
    CHECK_CLASS(MPI_Reduce(a, b, 1, MPI_INT, MPI_SUM, ranks, MPI_COMM_WORLD), MPI_ERR_ROOT);
    CHECK_CLASS(
        MPI_Reduce(MPI_IN_PLACE, b, 1, MPI_INT, MPI_SUM, me == 0 && ranks > 1, MPI_COMM_WORLD),
        ranks > 1 ? MPI_ERR_BUFFER : MPI_SUCCESS);
    CHECK_CLASS(MPI_Scan(a, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Reduce_scatter(a, b, NULL, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_ARG);
    counts[ranks - 1] = -2;
    CHECK_CLASS(MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(CALLED(Reduce_local)(a, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
    none = MPI_OP_NULL;
    CHECK_CLASS(MPI_Op_free(&none), MPI_ERR_OP);
    CHECK_CLASS(CALLED(Op_create)(NULL, 1, &op), MPI_ERR_ARG);
    CHECK(CALLED(Op_create)(add_ints, 1, &op) == MPI_SUCCESS);
    none = op;
    CHECK(MPI_Op_free(&op) == MPI_SUCCESS);
    CHECK_CLASS(REDUCE(MPI_INT, none), MPI_ERR_OP);
#undef REDUCE
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static const Case cases[] = {
    {"reduces", reduces},
    {"allreduces", allreduces},
    {"scans", scans},
    {"reduce_scatters", reduce_scatters},
    {"functions_that_do_not_commute", functions_that_do_not_commute},
    {"blocks_that_do_not_commute", blocks_that_do_not_commute},
    {"local_reductions", local_reductions},
    {"same_ties", same_ties},
    {"same_bits", same_bits},
    {"wrong_arguments", wrong_arguments},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    make_elements();
    mine = malloc(sizeof(int) * MOST);
    result = malloc(sizeof(int) * MOST);
    RUN_CASES(argc, argv, cases);
    free(mine);
    free(result);
    free_elements();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
