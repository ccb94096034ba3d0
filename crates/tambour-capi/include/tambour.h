/* Tambour: the LZ4 engine for C.
 *
 * LZ4 blocks (not frames): see lz4_Block_format.md of the LZ4 project, or docs/format/lz4-block.md.
 *
 * All functions may be called from any number of threads at once. They never write outside of the buffers that they
 * are given, whatever the compressed bytes are. A pointer may be NULL where its length is 0; a call with NULL and a
 * length above 0 fails. Buffers that are written must not overlap any other buffer of the same call; a call that
 * breaks this rule fails and writes nothing. What is read must have been written before (src); what is written need
 * not (dst: memory as malloc returns it will do).
 *
 * The environment variable TAMBOUR_ISA (scalar, ssse3, avx2, avx512, neon) caps the instruction sets in use. With a
 * value that does not exist, or that this processor lacks, every call but tambour_lz4_bound fails.
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

#ifdef __cplusplus
}
#endif

#endif
