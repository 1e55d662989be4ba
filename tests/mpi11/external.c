/* SPDX-License-Identifier: BSD-3-Clause */
/* "external32": known bytes, and every predefined type there and back. */
#include "cases.h"

#include <complex.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

/* Packs and compares with the bytes that the standard's rules give. */
static void check_bytes(const void* data, int count, MPI_Datatype type, const char* expected,
                        MPI_Aint bytes) {
    unsigned char packed[256];
    MPI_Aint size = -1, position = 3;
    CHECK(MPI_Pack_external_size("external32", count, type, &size) == MPI_SUCCESS);
    CHECK(size == bytes && size + 3 <= (MPI_Aint)sizeof packed);
    memset(packed, 0x5a, sizeof packed);
    MPI_Pack_external("external32", data, count, type, packed, sizeof packed, &position);
    CHECK(position == 3 + bytes);
    CHECK(memcmp(packed + 3, expected, (size_t)bytes) == 0);
    CHECK(packed[2] == 0x5a && packed[3 + bytes] == 0x5a);
}
#define BYTES(data, count, type, literal) \
    check_bytes(data, count, type, literal, (MPI_Aint)sizeof literal - 1)

static void known_bytes(void) {
    const int ints[] = {1, -2}, logicals[] = {1, 0};
    const short shorts[] = {0x1234, -1};
    const long longs[] = {1, -2, INT_MIN};
    const unsigned long unsigned_longs[] = {0xfffffffful, 7};
    const long long wide = 0x0102030405060708ll;
    const float single = 1.0f;
    const double twice[] = {1.0, -0.1};
    const long double extended[] = {1.0L, -3.5L, 1.0L / 3.0L};
    const float complex z = 1.0f - 2.0f * I;
    const wchar_t letters[] = {L'A', 0x20ac};
    const bool truths[] = {true, false};
    const MPI_Aint place = 258;
    const int64_t parts[] = {-1};
    BYTES(ints, 2, MPI_INT, "\0\0\0\1\377\377\377\376");
    BYTES(ints, 2, MPI_INTEGER, "\0\0\0\1\377\377\377\376");
    BYTES(logicals, 2, MPI_LOGICAL, "\0\0\0\1\0\0\0\0");
    BYTES(shorts, 2, MPI_SHORT, "\x12\x34\xff\xff");
    BYTES(longs, 3, MPI_LONG, "\0\0\0\1\377\377\377\376\200\0\0\0");
    BYTES(unsigned_longs, 2, MPI_UNSIGNED_LONG, "\377\377\377\377\0\0\0\7");
    BYTES(&wide, 1, MPI_LONG_LONG, "\1\2\3\4\5\6\7\10");
    BYTES(&single, 1, MPI_FLOAT, "\x3f\x80\0\0");
    BYTES(twice, 2, MPI_DOUBLE, "\x3f\xf0\0\0\0\0\0\0\xbf\xb9\x99\x99\x99\x99\x99\x9a");
    BYTES(extended, 2, MPI_LONG_DOUBLE,
          "\x3f\xff\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xc0\0\xc0\0\0\0\0\0\0\0\0\0\0\0\0\0");
#if __LDBL_MANT_DIG__ == 64
    /* 64 bits of fraction, with the first of them implied, and zeros behind. */
    BYTES(extended + 2, 1, MPI_LONG_DOUBLE, "\x3f\xfd\x55\x55\x55\x55\x55\x55\x55\x56\0\0\0\0\0\0");
#endif
    BYTES(&z, 1, MPI_C_FLOAT_COMPLEX, "\x3f\x80\0\0\xc0\0\0\0");
    BYTES(letters, 2, MPI_WCHAR, "\0A\x20\xac");
    BYTES(truths, 2, MPI_C_BOOL, "\1\0");
    BYTES(&place, 1, MPI_AINT, "\0\0\0\0\0\0\1\2");
    BYTES(parts, 1, MPI_INT64_T, "\377\377\377\377\377\377\377\377");
    BYTES("torus", 5, MPI_CHAR, "torus");
    BYTES("torus", 5, MPI_BYTE, "torus");
}

typedef struct {
    MPI_Datatype type;
    int native, external;
    int narrow; /* only so many bytes of a value are kept */
    int truth;  /* values are 0 and 1 */
} Form;

static const Form forms[] = {
    {MPI_CHAR, 1, 1, 0, 0},
    {MPI_SIGNED_CHAR, 1, 1, 0, 0},
    {MPI_UNSIGNED_CHAR, 1, 1, 0, 0},
    {MPI_BYTE, 1, 1, 0, 0},
    {MPI_PACKED, 1, 1, 0, 0},
    {MPI_WCHAR, sizeof(wchar_t), 2, 2, 0},
    {MPI_SHORT, sizeof(short), 2, 0, 0},
    {MPI_UNSIGNED_SHORT, sizeof(short), 2, 0, 0},
    {MPI_INT, sizeof(int), 4, 0, 0},
    {MPI_UNSIGNED, sizeof(int), 4, 0, 0},
    {MPI_LONG, sizeof(long), 4, 3, 0},
    {MPI_UNSIGNED_LONG, sizeof(long), 4, 4, 0},
    {MPI_LONG_LONG, 8, 8, 0, 0},
    {MPI_UNSIGNED_LONG_LONG, 8, 8, 0, 0},
    {MPI_FLOAT, 4, 4, 0, 0},
    {MPI_DOUBLE, 8, 8, 0, 0},
    {MPI_C_BOOL, 1, 1, 0, 1},
    {MPI_CXX_BOOL, 1, 1, 0, 1},
    {MPI_INT8_T, 1, 1, 0, 0},
    {MPI_UINT8_T, 1, 1, 0, 0},
    {MPI_INT16_T, 2, 2, 0, 0},
    {MPI_UINT16_T, 2, 2, 0, 0},
    {MPI_INT32_T, 4, 4, 0, 0},
    {MPI_UINT32_T, 4, 4, 0, 0},
    {MPI_INT64_T, 8, 8, 0, 0},
    {MPI_UINT64_T, 8, 8, 0, 0},
    {MPI_AINT, 8, 8, 0, 0},
    {MPI_OFFSET, 8, 8, 0, 0},
    {MPI_COUNT, 8, 8, 0, 0},
    {MPI_C_FLOAT_COMPLEX, 8, 8, 0, 0},
    {MPI_C_DOUBLE_COMPLEX, 16, 16, 0, 0},
    {MPI_CXX_FLOAT_COMPLEX, 8, 8, 0, 0},
    {MPI_CXX_DOUBLE_COMPLEX, 16, 16, 0, 0},
    {MPI_CHARACTER, 1, 1, 0, 0},
    {MPI_LOGICAL, 4, 4, 0, 1},
    {MPI_LOGICAL1, 1, 1, 0, 1},
    {MPI_LOGICAL2, 2, 2, 0, 1},
    {MPI_LOGICAL4, 4, 4, 0, 1},
    {MPI_LOGICAL8, 8, 8, 0, 1},
    {MPI_LOGICAL16, 16, 16, 0, 1},
    {MPI_INTEGER, 4, 4, 0, 0},
    {MPI_INTEGER1, 1, 1, 0, 0},
    {MPI_INTEGER2, 2, 2, 0, 0},
    {MPI_INTEGER4, 4, 4, 0, 0},
    {MPI_INTEGER8, 8, 8, 0, 0},
    {MPI_INTEGER16, 16, 16, 0, 0},
    {MPI_REAL, 4, 4, 0, 0},
    {MPI_DOUBLE_PRECISION, 8, 8, 0, 0},
    {MPI_REAL2, 2, 2, 0, 0},
    {MPI_REAL4, 4, 4, 0, 0},
    {MPI_REAL8, 8, 8, 0, 0},
    {MPI_REAL16, 16, 16, 0, 0},
    {MPI_COMPLEX, 8, 8, 0, 0},
    {MPI_DOUBLE_COMPLEX, 16, 16, 0, 0},
    {MPI_COMPLEX4, 4, 4, 0, 0},
    {MPI_COMPLEX8, 8, 8, 0, 0},
    {MPI_COMPLEX16, 16, 16, 0, 0},
    {MPI_COMPLEX32, 32, 32, 0, 0},
    {MPI_2INT, 8, 8, 0, 0},
    {MPI_FLOAT_INT, 8, 8, 0, 0},
    {MPI_2REAL, 8, 8, 0, 0},
    {MPI_2DOUBLE_PRECISION, 16, 16, 0, 0},
    {MPI_2INTEGER, 8, 8, 0, 0},
};

/* Odd numbers of odd values, over the edges of any piece that the library works in. */
static void round_trips(void) {
    static const int counts[] = {0, 1, 7, 333, 4099};
    size_t f, c, i, k;
    for (f = 0; f < sizeof forms / sizeof *forms; f++)
        for (c = 0; c < sizeof counts / sizeof *counts; c++) {
            const Form form = forms[f];
            const size_t n = (size_t)counts[c], room = n * (size_t)form.external;
            unsigned char* out = calloc(n + 1, (size_t)form.native);
            unsigned char* in = calloc(n + 1, (size_t)form.native);
            unsigned char* packed = malloc(room + 1);
            MPI_Aint size, position = 0;
            int native;
            MPI_Type_size(form.type, &native);
            CHECK(native == form.native);
            for (i = 0; i < n; i++) {
                unsigned char* const element = out + i * (size_t)form.native;
                const int bytes = form.narrow != 0 ? form.narrow : form.native;
                if (form.truth)
                    element[0] = i % 3 == 1;
                else
                    for (k = 0; k < (size_t)bytes; k++)
                        element[k] = (unsigned char)(i * 41 + k * 7 + 3);
            }
            MPI_Pack_external_size("external32", counts[c], form.type, &size);
            CHECK(size == (MPI_Aint)room);
            packed[room] = 0x77;
            MPI_Pack_external("external32", out, counts[c], form.type, packed, size, &position);
            CHECK(position == size && packed[room] == 0x77);
            position = 0;
            MPI_Unpack_external("external32", packed, size, &position, in, counts[c], form.type);
            CHECK(position == size);
            CHECK(memcmp(in, out, (n + 1) * (size_t)form.native) == 0);
            /* More significant bytes come first. */
            if (n != 0 && form.external == 8 && form.native == 8 && form.type == MPI_INT64_T)
                CHECK(packed[0] == out[7] && packed[7] == out[0]);
            free(out), free(in), free(packed);
        }
}

/* Its bits are not all the value's, so values are compared. */
static void long_doubles(void) {
    long double out[] = {0.0L,     -0.0L,     1.0L,        -1.5L,        3.14159265358979323846L,
                         INFINITY, -INFINITY, 0x1p-16400L, 0x1.8p16000L, -0x1.fffffffffffffffep0L};
    enum { count = sizeof out / sizeof *out };
    long double in[count + 1];
    long double complex z = 0.25L + 4.0L * I, z_in = 0;
    unsigned char packed[16 * (count + 1)];
    MPI_Aint size, position = 0;
    int i;
    MPI_Pack_external_size("external32", count, MPI_LONG_DOUBLE, &size);
    CHECK(size == 16 * count);
    MPI_Pack_external("external32", out, count, MPI_LONG_DOUBLE, packed, sizeof packed, &position);
    position = 0;
    MPI_Unpack_external("external32", packed, sizeof packed, &position, in, count, MPI_LONG_DOUBLE);
    CHECK(position == size);
    for (i = 0; i < count; i++) CHECK(in[i] == out[i] && !signbit(in[i]) == !signbit(out[i]));
    out[0] = NAN;
    position = 0;
    MPI_Pack_external("external32", out, 1, MPI_LONG_DOUBLE, packed, sizeof packed, &position);
    position = 0;
    MPI_Unpack_external("external32", packed, sizeof packed, &position, in, 1, MPI_LONG_DOUBLE);
    CHECK(isnan(in[0]));
    position = 0;
    MPI_Pack_external("external32", &z, 1, MPI_C_LONG_DOUBLE_COMPLEX, packed, sizeof packed,
                      &position);
    CHECK(position == 32);
    position = 0;
    MPI_Unpack_external("external32", packed, sizeof packed, &position, &z_in, 1,
                        MPI_C_LONG_DOUBLE_COMPLEX);
    CHECK(z_in == z);
}

/* A structure with gaps and a pair, several times, behind each other in one buffer. */
static void structures(void) {
    struct Record {
        char letter;
        long number;
        struct {
            double value;
            int index;
        } pair;
        short row[3];
    } out[50], in[50];
    const int lengths[] = {1, 1, 1, 3};
    const MPI_Aint places[] = {offsetof(struct Record, letter), offsetof(struct Record, number),
                               offsetof(struct Record, pair), offsetof(struct Record, row)};
    const MPI_Datatype types[] = {MPI_CHAR, MPI_LONG, MPI_DOUBLE_INT, MPI_SHORT};
    MPI_Datatype fields, type;
    unsigned char packed[50 * 23 + 4];
    MPI_Aint size, position = 0;
    int before = 99, after = 0, i;
    MPI_Type_create_struct(4, lengths, places, types, &fields);
    MPI_Type_create_resized(fields, 0, sizeof(struct Record), &type);
    MPI_Type_commit(&type);
    memset(out, 0, sizeof out);
    memset(in, 0, sizeof in);
    for (i = 0; i < 50; i++) {
        out[i].letter = (char)('a' + i % 26);
        out[i].number = -i;
        out[i].pair.value = 0.5 * i;
        out[i].pair.index = 7 * i;
        out[i].row[0] = (short)i, out[i].row[2] = (short)-i;
    }
    MPI_Pack_external_size("external32", 50, type, &size);
    CHECK(size == 50 * 23);
    MPI_Pack_external("external32", &before, 1, MPI_INT, packed, sizeof packed, &position);
    MPI_Pack_external("external32", out, 50, type, packed, sizeof packed, &position);
    CHECK(position == (MPI_Aint)sizeof packed);
    CHECK(packed[4] == 'a' && packed[4 + 23] == 'b');
    CHECK(memcmp(packed + 4 + 23 + 1, "\377\377\377\377\x3f\xe0\0\0\0\0\0\0\0\0\0\7", 16) == 0);
    position = 0;
    MPI_Unpack_external("external32", packed, sizeof packed, &position, &after, 1, MPI_INT);
    MPI_Unpack_external("external32", packed, sizeof packed, &position, in, 50, type);
    CHECK(after == 99 && position == (MPI_Aint)sizeof packed);
    CHECK(memcmp(in, out, sizeof out) == 0);
    MPI_Type_free(&type);
    MPI_Type_free(&fields);
}

/* One rank packs data, which is sent as bytes and unpacked by another rank. */
static void travels(void) {
    const double out[] = {me + 0.25, -1.0 / (me + 1)};
    const int next = (me + 1) % ranks, last = (me + ranks - 1) % ranks;
    double in[2] = {0, 0};
    unsigned char sent[16], received[16];
    MPI_Aint position = 0;
    MPI_Pack_external("external32", out, 2, MPI_DOUBLE, sent, 16, &position);
    MPI_Sendrecv(sent, 16, MPI_BYTE, next, 1, received, 16, MPI_BYTE, last, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    position = 0;
    MPI_Unpack_external("external32", received, 16, &position, in, 2, MPI_DOUBLE);
    CHECK(in[0] == last + 0.25 && in[1] == -1.0 / (last + 1));
}

/* The form of 64-bit counts gives the same bytes. */
static void wide(void) {
    const long out[] = {-5, 70000, 3};
    long in[3];
    unsigned char packed[12], packed_c[12];
    MPI_Aint position = 0;
    MPI_Count position_c = 0, size;
    MPI_Pack_external("external32", out, 3, MPI_LONG, packed, 12, &position);
    MPI_Pack_external_c("external32", out, 3, MPI_LONG, packed_c, 12, &position_c);
    CHECK(position_c == 12 && position == 12 && memcmp(packed, packed_c, 12) == 0);
    position_c = 0;
    MPI_Unpack_external_c("external32", packed_c, 12, &position_c, in, 3, MPI_LONG);
    CHECK(position_c == 12 && memcmp(in, out, sizeof out) == 0);
    MPI_Pack_external_size_c("external32", (MPI_Count)1 << 40, MPI_LONG, &size);
    CHECK(size == (MPI_Count)1 << 42);
    MPI_Pack_external_size_c("external32", INT64_MAX, MPI_LONG, &size);
    CHECK(size == MPI_UNDEFINED);
}

static void errors(void) {
    const long large[] = {0x80000000l, -0x80000001l};
    const unsigned long larger = 0x100000000ul;
    const wchar_t far_away = 0x1f600;
    unsigned char packed[16];
    MPI_Aint position = 0, size;
    MPI_Datatype type;
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
#define PACK(data, type) MPI_Pack_external("external32", data, 1, type, packed, 16, &position)
    CHECK_CLASS(PACK(large, MPI_LONG), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_CLASS(PACK(large + 1, MPI_LONG), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_CLASS(PACK(&larger, MPI_UNSIGNED_LONG), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_CLASS(PACK(&far_away, MPI_WCHAR), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_CLASS(PACK(NULL, MPI_INT), MPI_ERR_BUFFER);
    CHECK(position == 0);
    position = 13;
    CHECK_CLASS(PACK(&value, MPI_INT), MPI_ERR_TRUNCATE);
    position = 17;
    CHECK_CLASS(PACK(&value, MPI_INT), MPI_ERR_ARG);
    position = 0;
#undef PACK
    CHECK_CLASS(MPI_Pack_external("native", &value, 1, MPI_INT, packed, 16, &position),
                MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_external_size("External32", 1, MPI_INT, &size), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pack_external_size("external32", -1, MPI_INT, &size), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Unpack_external("external32", packed, 3, &position, &value, 1, MPI_INT),
                MPI_ERR_TRUNCATE);
    MPI_Type_contiguous(2, MPI_INT, &type);
    CHECK_CLASS(MPI_Pack_external("external32", &value, 0, type, packed, 16, &position),
                MPI_ERR_TYPE);
    MPI_Type_free(&type);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static const Case cases[] = {
    {"known_bytes", known_bytes}, {"round_trips", round_trips}, {"long_doubles", long_doubles},
    {"structures", structures},   {"travels", travels},         {"wide", wide},
    {"errors", errors},
};

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    RUN_CASES(argc, argv, cases);
    MPI_Finalize();
    return 0;
}
