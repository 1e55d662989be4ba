/* SPDX-License-Identifier: BSD-3-Clause */
/* The construction of datatypes: the envelopes and contents of every constructor. */
#include "cases.h"

/* What MPI_Type_get_envelope and MPI_Type_get_contents must say; frees the type. */
static void check_made(MPI_Datatype type, int combiner, int ni, const int integers[], int na,
                       const MPI_Aint addresses[], MPI_Datatype old) {
    int found_integers[8], found_ni, found_na, nd, found_combiner, i;
    MPI_Aint found_addresses[4];
    MPI_Datatype types[1];
    MPI_Type_get_envelope(type, &found_ni, &found_na, &nd, &found_combiner);
    CHECK(found_combiner == combiner && found_ni == ni && found_na == na && nd == 1);
    MPI_Type_get_contents(type, ni, na, 1, found_integers, found_addresses, types);
    for (i = 0; i < ni; i++) CHECK(found_integers[i] == integers[i]);
    for (i = 0; i < na; i++) CHECK(found_addresses[i] == addresses[i]);
    CHECK(types[0] == old);
    MPI_Type_free(&type);
}

/* Every constructor of C whose type has one old type; under its name of MPI-1 as of today. */
static void combiners(void) {
    int lengths[] = {2, 1}, places[] = {4, 0};
    const int vector[] = {3, 2, 5}, hvector[] = {3, 2}, indexed[] = {2, 2, 1, 4, 0};
    const int hindexed[] = {2, 2, 1}, block[] = {2, 3, 4, 0}, hblock[] = {2, 3};
    MPI_Aint bytes[] = {40, -8};
    MPI_Datatype type, olds[] = {MPI_INT, MPI_INT}, got[2];
    int integers[3], ni, na, nd, combiner;
    MPI_Type_dup(MPI_INT, &type);
    check_made(type, MPI_COMBINER_DUP, 0, NULL, 0, NULL, MPI_INT);
    MPI_Type_contiguous(3, MPI_INT, &type);
    check_made(type, MPI_COMBINER_CONTIGUOUS, 1, vector, 0, NULL, MPI_INT);
    MPI_Type_vector(3, 2, 5, MPI_INT, &type);
    check_made(type, MPI_COMBINER_VECTOR, 3, vector, 0, NULL, MPI_INT);
    MPI_Type_create_hvector(3, 2, 40, MPI_INT, &type);
    check_made(type, MPI_COMBINER_HVECTOR, 2, hvector, 1, bytes, MPI_INT);
    MPI_Type_hvector(3, 2, 40, MPI_INT, &type);
    check_made(type, MPI_COMBINER_HVECTOR, 2, hvector, 1, bytes, MPI_INT);
    MPI_Type_indexed(2, lengths, places, MPI_INT, &type);
    check_made(type, MPI_COMBINER_INDEXED, 5, indexed, 0, NULL, MPI_INT);
    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
    check_made(type, MPI_COMBINER_HINDEXED, 3, hindexed, 2, bytes, MPI_INT);
    MPI_Type_hindexed(2, lengths, bytes, MPI_INT, &type);
    check_made(type, MPI_COMBINER_HINDEXED, 3, hindexed, 2, bytes, MPI_INT);
    MPI_Type_create_indexed_block(2, 3, places, MPI_INT, &type);
    check_made(type, MPI_COMBINER_INDEXED_BLOCK, 4, block, 0, NULL, MPI_INT);
    MPI_Type_create_hindexed_block(2, 3, bytes, MPI_INT, &type);
    check_made(type, MPI_COMBINER_HINDEXED_BLOCK, 2, hblock, 2, bytes, MPI_INT);
    MPI_Type_create_resized(MPI_INT, 40, -8, &type);
    check_made(type, MPI_COMBINER_RESIZED, 0, NULL, 2, bytes, MPI_INT);
    MPI_Type_struct(2, lengths, bytes, olds, &type);
    MPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    CHECK(combiner == MPI_COMBINER_STRUCT && ni == 3 && na == 2 && nd == 2);
    MPI_Type_get_contents(type, 3, 2, 2, integers, bytes, got);
    CHECK(integers[1] == 2 && bytes[1] == -8 && got[1] == MPI_INT);
    MPI_Type_free(&type);
}

static const Case cases[] = {{"combiners", combiners}};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
