/* SPDX-License-Identifier: BSD-3-Clause */
/* Reductions of every type, in cases. */
#include "cases.h"

#include <stdint.h>

#define SUM_OF(type, handle)                                                                \
    do {                                                                                    \
        type in_[3], out_[3];                                                               \
        int k_;                                                                             \
        for (k_ = 0; k_ < 3; k_++) in_[k_] = (type)(me + k_);                               \
        CHECK(MPI_Allreduce(in_, out_, 3, handle, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS); \
        for (k_ = 0; k_ < 3; k_++)                                                          \
            CHECK(out_[k_] == (type)(ranks * (ranks - 1) / 2 + ranks * k_));                \
    } while (0)

static void types(void) {
    SUM_OF(signed char, MPI_SIGNED_CHAR);
    SUM_OF(unsigned char, MPI_UNSIGNED_CHAR);
    SUM_OF(short, MPI_SHORT);
    SUM_OF(unsigned short, MPI_UNSIGNED_SHORT);
    SUM_OF(unsigned, MPI_UNSIGNED);
    SUM_OF(long, MPI_LONG);
    SUM_OF(unsigned long, MPI_UNSIGNED_LONG);
    SUM_OF(long long, MPI_LONG_LONG);
    SUM_OF(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    SUM_OF(float, MPI_FLOAT);
    SUM_OF(double, MPI_DOUBLE);
    SUM_OF(long double, MPI_LONG_DOUBLE);
    SUM_OF(int8_t, MPI_INT8_T);
    SUM_OF(uint16_t, MPI_UINT16_T);
    SUM_OF(int64_t, MPI_INT64_T);
    SUM_OF(MPI_Aint, MPI_AINT);
    SUM_OF(MPI_Count, MPI_COUNT);
    SUM_OF(MPI_Offset, MPI_OFFSET);
    SUM_OF(int, MPI_INTEGER);
    SUM_OF(float, MPI_REAL);
    SUM_OF(double, MPI_DOUBLE_PRECISION);
    SUM_OF(int64_t, MPI_INTEGER8);
    SUM_OF(double _Complex, MPI_C_DOUBLE_COMPLEX);
    SUM_OF(float _Complex, MPI_COMPLEX);
    {
        unsigned char bits = (unsigned char)(1 << me % 8), all = 0;
        int truth = me == 0, any = 0;
        CHECK(MPI_Allreduce(&bits, &all, 1, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(all == (ranks >= 8 ? 255 : (1 << ranks) - 1));
        CHECK(MPI_Allreduce(&truth, &any, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(any == 1);
    }
}

#define LOCATION_OF(V, I, handle)                                                                 \
    do {                                                                                          \
        struct {                                                                                  \
            V value;                                                                              \
            I index;                                                                              \
        } in_[2], least_[2], most_[2];                                                            \
        memset(in_, 0, sizeof in_);                                                               \
        in_[0].value = (V)((me + 1) % ranks);                                                     \
        in_[0].index = (I)me;                                                                     \
        in_[1].value = 5;                                                                         \
        in_[1].index = (I)(100 - me);                                                             \
        CHECK(MPI_Allreduce(in_, least_, 2, handle, MPI_MINLOC, MPI_COMM_WORLD) == MPI_SUCCESS);  \
        CHECK(MPI_Reduce(in_, most_, 2, handle, MPI_MAXLOC, ranks - 1, MPI_COMM_WORLD) ==         \
              MPI_SUCCESS);                                                                       \
        CHECK(least_[0].value == 0 && least_[0].index == (I)(ranks - 1));                         \
        CHECK(least_[1].value == 5 && least_[1].index == (I)(101 - ranks));                       \
        if (me == ranks - 1) {                                                                    \
            CHECK(most_[0].value == (V)(ranks - 1));                                              \
            CHECK(most_[0].index == (I)(ranks == 1 ? 0 : ranks - 2));                             \
            CHECK(most_[1].index == (I)(101 - ranks));                                            \
        }                                                                                         \
        CHECK(MPI_Scan(MPI_IN_PLACE, in_, 2, handle, MPI_MAXLOC, MPI_COMM_WORLD) == MPI_SUCCESS); \
        CHECK(in_[1].value == 5 && in_[1].index == (I)(100 - me));                                \
    } while (0)

static void locations(void) {
    LOCATION_OF(float, int, MPI_FLOAT_INT);
    LOCATION_OF(double, int, MPI_DOUBLE_INT);
    LOCATION_OF(long, int, MPI_LONG_INT);
    LOCATION_OF(int, int, MPI_2INT);
    LOCATION_OF(short, int, MPI_SHORT_INT);
    LOCATION_OF(long double, int, MPI_LONG_DOUBLE_INT);
    LOCATION_OF(float, float, MPI_2REAL);
    LOCATION_OF(double, double, MPI_2DOUBLE_PRECISION);
    LOCATION_OF(int, int, MPI_2INTEGER);
}

static const Case cases[] = {
    {"types", types},
    {"locations", locations},
};

int main(int argc, char** argv) {
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    RUN_CASES(argc, argv, cases);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    return 0;
}
