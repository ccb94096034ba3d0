/* What a C program may rely on. Prints the first thing that is wrong and ends with 1, or nothing and 0. */
#include "tambour.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                     \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fprintf(stderr, "line %d: %s\n", __LINE__, #condition);          \
            return 1;                                                        \
        }                                                                    \
    } while (0)

enum { LENGTH = 100000, COUNT = 6 };

/* "hello hello": six literals, a match of four at offset 6, five literals. */
static const uint8_t BLOCK[] = {0x60, 'h', 'e', 'l', 'l', 'o', ' ', 6, 0, 0x50, 'h', 'e', 'l', 'l', 'o'};
static const char TEXT[] = "hello hellhello";

static int valid_and_malformed(void) {
    uint8_t target[16];
    CHECK(tambour_lz4_decode(BLOCK, sizeof BLOCK, target, 15));
    CHECK(memcmp(target, TEXT, 15) == 0);
    CHECK(!tambour_lz4_decode(BLOCK, sizeof BLOCK, target, 14));
    CHECK(!tambour_lz4_decode(BLOCK, sizeof BLOCK, target, 16));
    for (size_t length = 0; length < sizeof BLOCK; length++)
        CHECK(!tambour_lz4_decode(BLOCK, length, target, 15));
    uint8_t broken[sizeof BLOCK];
    memcpy(broken, BLOCK, sizeof BLOCK);
    broken[7] = 0; /* offset 0 */
    CHECK(!tambour_lz4_decode(broken, sizeof broken, target, 15));
    broken[7] = 7; /* before the start */
    CHECK(!tambour_lz4_decode(broken, sizeof broken, target, 15));
    tambour_lz4_selector_reset();
    CHECK(tambour_lz4_decode_with("scalar", BLOCK, sizeof BLOCK, target, 15));
    CHECK(!tambour_lz4_decode_with("nothing", BLOCK, sizeof BLOCK, target, 15));
    CHECK(!tambour_lz4_decode_with(NULL, BLOCK, sizeof BLOCK, target, 15));
    return 0;
}

static int null_and_overlap(void) {
    uint8_t buffer[64] = {0};
    CHECK(tambour_lz4_decode(buffer, 1, NULL, 0)); /* an empty block */
    CHECK(!tambour_lz4_decode(NULL, 0, buffer, 0));
    CHECK(!tambour_lz4_decode(NULL, 5, buffer, 5));
    CHECK(!tambour_lz4_decode(buffer, 5, NULL, 5));
    CHECK(!tambour_lz4_decode(buffer, SIZE_MAX, buffer, 5));
    CHECK(!tambour_lz4_decode(buffer, 32, buffer + 31, 5));
    CHECK(tambour_lz4_encode(1, NULL, 5, buffer, 64) == 0);
    CHECK(tambour_lz4_encode(1, buffer, 5, NULL, 64) == 0);
    CHECK(tambour_lz4_encode(1, NULL, 0, buffer, 64) == 1 && buffer[0] == 0);
    CHECK(tambour_lz4_decode_batch(0, NULL, NULL, NULL, NULL) == 0);
    CHECK(tambour_lz4_decode_batch(1, NULL, NULL, NULL, NULL) == 0);
    CHECK(tambour_lz4_bound(SIZE_MAX) == 0);
    return 0;
}

static int round_trip_and_batch(void) {
    const int levels[COUNT] = {1, -8, 3, 9, 12, TAMBOUR_LZ4_DECODE_SPEED};
    uint8_t *source = malloc(LENGTH);
    uint8_t *encoded[COUNT], *decoded[COUNT];
    size_t encoded_length[COUNT], length[COUNT];
    CHECK(source != NULL);
    for (size_t index = 0; index < LENGTH; index++)
        source[index] = (uint8_t)((index * index >> 7) % 23);
    for (int index = 0; index < COUNT; index++) {
        size_t bound = tambour_lz4_bound(LENGTH);
        CHECK(bound > LENGTH);
        encoded[index] = malloc(bound);
        decoded[index] = malloc(LENGTH);
        CHECK(encoded[index] != NULL && decoded[index] != NULL);
        length[index] = LENGTH;
        size_t exact = tambour_lz4_encode(levels[index], source, LENGTH, encoded[index], bound);
        CHECK(exact > 0 && exact < LENGTH);
        encoded_length[index] = exact;
        CHECK(tambour_lz4_encode(levels[index], source, LENGTH, encoded[index], exact) == exact);
        CHECK(tambour_lz4_encode(levels[index], source, LENGTH, decoded[index], exact - 1) == 0);
    }
    const uint8_t *const *sources = (const uint8_t *const *)encoded;
    uint8_t *const *targets = decoded;
    CHECK(tambour_lz4_decode_batch(COUNT, sources, encoded_length, targets, length) == COUNT);
    for (int index = 0; index < COUNT; index++)
        CHECK(memcmp(decoded[index], source, LENGTH) == 0);
    encoded_length[3] -= 1;
    memset(decoded[0], 0, LENGTH);
    CHECK(tambour_lz4_decode_batch(COUNT, sources, encoded_length, targets, length) == 3);
    CHECK(memcmp(decoded[0], source, LENGTH) == 0);
    encoded_length[3] += 1;
    uint8_t *kept = decoded[1];
    decoded[1] = decoded[0] + 1; /* two targets overlap */
    CHECK(tambour_lz4_decode_batch(COUNT, sources, encoded_length, targets, length) == 0);
    decoded[1] = NULL;
    CHECK(tambour_lz4_decode_batch(COUNT, sources, encoded_length, targets, length) == 1);
    decoded[1] = kept;
    for (int index = 0; index < COUNT; index++) {
        free(encoded[index]);
        free(decoded[index]);
    }
    free(source);
    return 0;
}

int main(void) {
    return valid_and_malformed() || null_and_overlap() || round_trip_and_batch();
}
