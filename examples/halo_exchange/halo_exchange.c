/* SPDX-License-Identifier: BSD-3-Clause */
/* torus-halo-exchange: a first QMP program.
 *
 * The ranks form a torus. Each rank holds a block of a field, and needs a copy of the values just
 * across each of its borders: the halo. Lattice codes exchange halos thousands of times, always
 * with the same neighbours and from the same memory. So a QMP program declares each message once
 * and then starts it repeatedly.
 *
 *     torus-run -np 8 torus-halo-exchange                        2x2x2 ranks
 *     torus-run -np 4 --torus 4 torus-halo-exchange              a ring of four
 *     torus-run -np 8 torus-halo-exchange 4096                   with 4096 doubles in each face
 *     torus-run -np 8 torus-halo-exchange -qmp-geom 4 2          as a machine of 4x2 ranks
 *
 * Exit code: 0 if every number arrived at its destination, 1 if not, 2 if the argument is invalid.
 */
#include <qmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef TORUSMP_VERSION /* set in the installed program; the source compiles without it */
#define TORUSMP_VERSION "compiled from its source"
#endif

enum { MAX_DIMS = 6, ROUNDS = 10, DEFAULT_LENGTH = 1024, MAX_LENGTH = 1 << 24 };

/* One border of the block. The face is sent to the neighbour; the halo receives the neighbour's
 * face. */
typedef struct {
    int axis, sign; /* the neighbour is at +1 or -1 along this axis */
    int neighbour;  /* its node number, to compute the expected values */
    QMP_mem_t *face_memory, *halo_memory;
    QMP_msgmem_t face_message, halo_message;
} border_t;

/* The value that node `node` writes into number `i` of its face towards (axis, sign) in one round:
 * different for each combination. */
static double face_value(int node, int axis, int sign, int round, int i) {
    return ((node * 2.0 * MAX_DIMS + 2 * axis + (sign > 0)) * ROUNDS + round) * MAX_LENGTH + i;
}

/* The machine's own dimensions if they are known and this job uses the whole machine, otherwise a
 * 3-D torus as nearly cubic as the number of ranks allows. Returns the number of dimensions. */
static int choose_topology(int dims[MAX_DIMS]) {
    int ndim = QMP_get_allocated_number_of_dimensions(), size = 1;
    if (QMP_get_msg_passing_type() == QMP_GRID && ndim > 0 && ndim <= MAX_DIMS) {
        for (int mu = 0; mu < ndim; ++mu) size *= dims[mu] = QMP_get_allocated_dimensions()[mu];
        if (size == QMP_get_number_of_nodes()) return ndim;
    }
    ndim = 3;
    for (int mu = 0; mu < ndim; ++mu) dims[mu] = 1;
    /* Each prime factor goes to the dimension that is the smallest so far. */
    int left = QMP_get_number_of_nodes();
    for (int factor = 2; left > 1;) {
        if (left % factor != 0) {
            ++factor;
            continue;
        }
        int smallest = 0;
        for (int mu = 1; mu < ndim; ++mu)
            if (dims[mu] < dims[smallest]) smallest = mu;
        dims[smallest] *= factor;
        left /= factor;
    }
    return ndim;
}

static int find_neighbour(const int dims[], int ndim, int axis, int sign) {
    int place[MAX_DIMS];
    for (int mu = 0; mu < ndim; ++mu) place[mu] = QMP_get_logical_coordinates()[mu];
    place[axis] = (place[axis] + sign + dims[axis]) % dims[axis]; /* a torus closes on itself */
    return QMP_get_node_number_from(place);
}

/* Declares the two messages of one border and adds their handles. */
static void declare_border(border_t* b, size_t bytes, QMP_msghandle_t handles[], int* count) {
    /* A neighbour on the same host can write directly into memory that QMP allocates. Other memory
     * works too, but may be slower. */
    b->face_memory = QMP_allocate_memory(bytes);
    b->halo_memory = QMP_allocate_memory(bytes);
    if (!b->face_memory || !b->halo_memory) QMP_abort_string(1, "no memory for the faces");
    b->face_message = QMP_declare_msgmem(QMP_get_memory_pointer(b->face_memory), bytes);
    b->halo_message = QMP_declare_msgmem(QMP_get_memory_pointer(b->halo_memory), bytes);
    /* "Relative": to and from the neighbour in a direction, whatever its number. The neighbour on
     * the plus side receives from its minus side what this rank sends to its plus side. */
    handles[(*count)++] = QMP_declare_send_relative(b->face_message, b->axis, b->sign, 0);
    handles[(*count)++] = QMP_declare_receive_relative(b->halo_message, b->axis, b->sign, 0);
}

static void free_border(border_t* b) {
    QMP_free_msgmem(b->face_message);
    QMP_free_msgmem(b->halo_message);
    QMP_free_memory(b->face_memory);
    QMP_free_memory(b->halo_memory);
}

static void fill_face(const border_t* b, int length, int round) {
    double* face = QMP_get_memory_pointer(b->face_memory);
    for (int i = 0; i < length; ++i)
        face[i] = face_value(QMP_get_node_number(), b->axis, b->sign, round, i);
}

/* The number of values in the halo that differ from the neighbour's face towards this rank. */
static int wrong_in_halo(const border_t* b, int length, int round) {
    const double* halo = QMP_get_memory_pointer(b->halo_memory);
    int wrong = 0;
    for (int i = 0; i < length; ++i)
        wrong += halo[i] != face_value(b->neighbour, b->axis, -b->sign, round, i);
    return wrong;
}

/* Returns the number of wrong values over all ranks. */
static double exchange(const int dims[], int ndim, int length) {
    border_t borders[2 * MAX_DIMS];
    QMP_msghandle_t handles[4 * MAX_DIMS];
    const int nborders = 2 * ndim;
    int nhandles = 0;

    for (int k = 0; k < nborders; ++k) {
        borders[k].axis = k / 2;
        borders[k].sign = k % 2 ? -1 : +1;
        borders[k].neighbour = find_neighbour(dims, ndim, borders[k].axis, borders[k].sign);
        declare_border(&borders[k], (size_t)length * sizeof(double), handles, &nhandles);
    }
    /* One handle for all messages. It owns the others: they are freed with it. */
    QMP_msghandle_t all = QMP_declare_multiple(handles, nhandles);
    if (!all) QMP_abort_string(1, "the messages could not be declared");

    double wrong = 0;
    for (int round = 0; round < ROUNDS; ++round) {
        for (int k = 0; k < nborders; ++k) fill_face(&borders[k], length, round);
        QMP_start(all);
        /* A real program computes here everything that does not need the halo. It must not access
         * faces and halos. */
        if (QMP_wait(all) != QMP_SUCCESS) QMP_abort_string(1, "the exchange failed");
        for (int k = 0; k < nborders; ++k) wrong += wrong_in_halo(&borders[k], length, round);
    }

    QMP_free_msghandle(all);
    for (int k = 0; k < nborders; ++k) free_border(&borders[k]);

    QMP_sum_double(&wrong); /* every rank calls it, and every rank gets the sum */
    return wrong;
}

/* The length of a face from the command line, or 0 if it is invalid. */
static int parse_length(int argc, char** argv) {
    if (argc == 1) return DEFAULT_LENGTH;
    char* end;
    const long length = strtol(argv[1], &end, 10);
    if (argc == 2 && end != argv[1] && *end == '\0' && length > 0 && length <= MAX_LENGTH)
        return (int)length;
    if (QMP_is_primary_node())
        fprintf(stderr,
                "torus-halo-exchange: found '%s', expected one number of doubles a face, 1 to %d\n",
                argv[argc - 1], MAX_LENGTH);
    return 0;
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "--version") == 0) {
        puts("torus-halo-exchange (torusmp) " TORUSMP_VERSION);
        return 0;
    }
    /* Removes the QMP options from argv, so it is called before the program reads its own. */
    QMP_thread_level_t level;
    if (QMP_init_msg_passing(&argc, &argv, QMP_THREAD_SINGLE, &level) != QMP_SUCCESS) return 1;

    const int length = parse_length(argc, argv);
    if (length == 0) {
        QMP_finalize_msg_passing();
        return 2;
    }

    int dims[MAX_DIMS];
    const int ndim = choose_topology(dims);
    if (QMP_declare_logical_topology(dims, ndim) != QMP_SUCCESS)
        QMP_abort_string(1, "the topology could not be declared");

    const double wrong = exchange(dims, ndim, length);

    if (QMP_is_primary_node()) {
        printf("%d ranks on a torus of", QMP_get_number_of_nodes());
        for (int mu = 0; mu < ndim; ++mu) printf("%s%d", mu ? "x" : " ", dims[mu]);
        printf(": %d rounds with %d messages of %zu bytes a rank, %.0f wrong numbers\n", ROUNDS,
               2 * ndim, (size_t)length * sizeof(double), wrong);
    }
    QMP_finalize_msg_passing();
    return wrong == 0 ? 0 : 1;
}
