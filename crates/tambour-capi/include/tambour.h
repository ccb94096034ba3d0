/* Tambour for C: LZ4 blocks, and messages.
 *
 * LZ4 blocks (not frames): see lz4_Block_format.md of the LZ4 project, or docs/format/lz4-block.md. Messages: see
 * docs/format/message.md.
 *
 * All functions may be called from any number of threads at once. They never write outside of the buffers that they
 * are given, whatever the compressed bytes are. A pointer may be NULL where its length is 0; a call with NULL and a
 * length above 0 fails. Buffers that are written must not overlap any other buffer of the same call; a call that
 * breaks this rule fails and writes nothing. What is read must have been written before (src); what is written need
 * not (dst: memory as malloc returns it will do).
 *
 * The environment variable TAMBOUR_ISA (scalar, ssse3, avx2, avx512, neon) caps the instruction sets in use. With a
 * value that does not exist, or that this processor lacks, every call of LZ4 but tambour_lz4_bound fails.
 */
#ifndef TAMBOUR_H
#define TAMBOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Decodes one block into exactly m bytes. False if the block is malformed or does not hold m bytes; dst then has
 * unspecified content. Chooses the code that is fastest for the blocks of this thread. */
bool tambour_lz4_decode(const uint8_t *src, size_t n, uint8_t *dst, size_t m);

/* Forgets what this thread has learned about its blocks: call it where other data begins. */
void tambour_lz4_selector_reset(void);

/* The same with a variant by its name ("scalar", "lean8-avx2", ...: those that `tambour codecs` lists). False also if
 * there is no such variant, or this processor cannot run it, or TAMBOUR_ISA excludes it. */
bool tambour_lz4_decode_with(const char *variant, const uint8_t *src, size_t n, uint8_t *dst, size_t m);

/* Decodes count independent blocks; faster than one call for each. Returns how many were right, in order: that is the
 * index of the first block that was not, or count. The targets of that block and of all after it have unspecified
 * content. */
size_t tambour_lz4_decode_batch(size_t count, const uint8_t *const *src, const size_t *n, uint8_t *const *dst,
                                const size_t *m);

/* A level whose blocks decode fast: few sequences, long matches. Encoding takes its time: 10 to 40 MB/s. */
#define TAMBOUR_LZ4_DECODE_SPEED 100

/* Encodes one block; returns its length, or 0 if it does not fit into capacity bytes (tambour_lz4_bound(n) is always
 * enough) or n is above 0x7E000000. Levels: 3 to 12 are slower and smaller; 1, 2 and 0 are fast; -1 and below are faster
 * still, each step a little. TAMBOUR_LZ4_DECODE_SPEED is a level, too; any other above 12 is taken for 12. */
size_t tambour_lz4_encode(int level, const uint8_t *src, size_t n, uint8_t *dst, size_t capacity);

/* Most bytes that n bytes can become; 0 if n is above 0x7E000000. */
size_t tambour_lz4_bound(size_t n);

/* Messages: each is compressed by itself, with a dictionary that sender and receiver share and that `tambour messages train`
 * or a Trainer makes. Each message names the generation of its dictionary. A tambour_messages knows dictionaries; any number
 * of threads may use one at once, while nobody frees it. What is not right is refused: no damaged message is taken for another
 * one but by a chance of one in 2^32 (docs/format/message.md, with the default check). */
typedef struct tambour_messages tambour_messages;

/* Knows one dictionary, the bytes of its file, and encodes with it. NULL if that is no dictionary, or a damaged one. */
tambour_messages *tambour_messages_new(uint8_t generation, const uint8_t *dictionary, size_t n);

/* Ends it; NULL is let pass. */
void tambour_messages_free(tambour_messages *messages);

/* Makes a further dictionary known. False if it is none, or if another one has the generation. */
bool tambour_messages_add(const tambour_messages *messages, uint8_t generation, const uint8_t *dictionary, size_t n);

/* Encodes with the dictionary of this generation from now on. False if it is not known. */
bool tambour_messages_switch(const tambour_messages *messages, uint8_t generation);

/* How long the header of an encoded message says that the message is, at most 16 MiB: check it against what you are ready
 * to take before you allocate. SIZE_MAX if that is no header of a message. */
size_t tambour_message_length(const uint8_t *src, size_t n);

/* Most bytes that a message of n bytes becomes; 0 if n is above 16 MiB. */
size_t tambour_message_bound(size_t n);

/* Decodes a message into dst; returns its length. SIZE_MAX if it is malformed or longer than capacity, if its dictionary is
 * not known, or if its check is wrong; dst then has unspecified content. `pin` is the first message of this connection, as
 * it was sent, for messages that refer to it; NULL and 0 without. */
size_t tambour_message_decode(const tambour_messages *messages, const uint8_t *pin, size_t pin_n, const uint8_t *src,
                              size_t n, uint8_t *dst, size_t capacity);

/* Encodes a message; returns its length, or 0 if it does not fit into capacity bytes (tambour_message_bound(n) is always
 * enough) or is above 16 MiB. With a `pin`, the receiver must have the same. */
size_t tambour_message_encode(const tambour_messages *messages, const uint8_t *pin, size_t pin_n, const uint8_t *src,
                              size_t n, uint8_t *dst, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
