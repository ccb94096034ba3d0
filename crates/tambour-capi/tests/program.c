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

static uint8_t *read_file(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(1 << 20);
    if (file == NULL || bytes == NULL)
        return NULL;
    *length = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static int messages(const char *path) {
    static const char PIN[] = "hello, I am client 0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    static const char CALL[] = "get:7 for 0a1b2c3d4e5f60718293a4b5c6d7e8f9";
    const size_t length = sizeof CALL - 1, pin_length = sizeof PIN - 1;
    const uint8_t *pin = (const uint8_t *)PIN, *call = (const uint8_t *)CALL;
    uint8_t encoded[96], pinned[96], decoded[64];
    size_t n;
    uint8_t *dictionary = read_file(path, &n);
    CHECK(dictionary != NULL);
    CHECK(tambour_messages_new(1, NULL, 0) == NULL && tambour_messages_new(1, dictionary, n - 1) == NULL);
    tambour_messages *codec = tambour_messages_new(1, dictionary, n);
    CHECK(codec != NULL);
    size_t bytes = tambour_message_encode(codec, NULL, 0, call, length, encoded, sizeof encoded);
    CHECK(bytes > 0 && bytes < length && bytes <= tambour_message_bound(length));
    CHECK(tambour_message_length(encoded, bytes) == length);
    CHECK(tambour_message_decode(codec, NULL, 0, encoded, bytes, decoded, length) == length);
    CHECK(memcmp(decoded, CALL, length) == 0);
    /* Too little room, cut anywhere, a flipped bit, another generation, nothing at all. */
    CHECK(tambour_message_encode(codec, NULL, 0, call, length, encoded, bytes - 1) == 0);
    CHECK(tambour_message_decode(codec, NULL, 0, encoded, bytes, decoded, length - 1) == SIZE_MAX);
    for (size_t cut = 0; cut < bytes; cut++)
        CHECK(tambour_message_decode(codec, NULL, 0, encoded, cut, decoded, 64) == SIZE_MAX);
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        encoded[bit / 8] ^= (uint8_t)(1 << bit % 8);
        CHECK(tambour_message_decode(codec, NULL, 0, encoded, bytes, decoded, 64) == SIZE_MAX);
        encoded[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    CHECK(tambour_message_length(NULL, 0) == SIZE_MAX && tambour_message_length(encoded, 1) == SIZE_MAX);
    CHECK(tambour_message_decode(codec, NULL, 0, NULL, 5, decoded, 64) == SIZE_MAX);
    CHECK(tambour_message_decode(NULL, NULL, 0, encoded, bytes, decoded, 64) == SIZE_MAX);
    CHECK(tambour_message_decode(codec, NULL, 0, encoded, bytes, encoded + 1, 60) == SIZE_MAX);
    CHECK(tambour_message_decode(codec, decoded, 5, encoded, bytes, decoded, 64) == SIZE_MAX);
    /* After a pin: shorter, and refused without it or with another. */
    size_t short_bytes = tambour_message_encode(codec, pin, pin_length, call, length, pinned, sizeof pinned);
    CHECK(short_bytes > 0 && short_bytes < bytes);
    CHECK(tambour_message_decode(codec, pin, pin_length, pinned, short_bytes, decoded, 64) == length);
    CHECK(memcmp(decoded, CALL, length) == 0);
    CHECK(tambour_message_decode(codec, NULL, 0, pinned, short_bytes, decoded, 64) == SIZE_MAX);
    CHECK(tambour_message_decode(codec, pin, pin_length - 1, pinned, short_bytes, decoded, 64) == SIZE_MAX);
    /* A second dictionary. */
    CHECK(!tambour_messages_switch(codec, 2));
    CHECK(tambour_messages_add(codec, 2, dictionary, n) && tambour_messages_switch(codec, 2));
    CHECK(!tambour_messages_add(codec, 3, dictionary, 3) && !tambour_messages_add(NULL, 3, dictionary, n));
    bytes = tambour_message_encode(codec, NULL, 0, call, length, encoded, sizeof encoded);
    CHECK(encoded[0] == 2);
    CHECK(tambour_message_decode(codec, NULL, 0, encoded, bytes, decoded, 64) == length);
    /* An empty message is one. */
    bytes = tambour_message_encode(codec, NULL, 0, NULL, 0, encoded, sizeof encoded);
    CHECK(bytes > 0 && tambour_message_decode(codec, NULL, 0, encoded, bytes, NULL, 0) == 0);
    CHECK(tambour_message_bound((size_t)17 << 20) == 0);
    tambour_messages_free(codec);
    tambour_messages_free(NULL);
    free(dictionary);
    return 0;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    return valid_and_malformed() || null_and_overlap() || round_trip_and_batch() || messages(arguments[1]);
}
