/* SPDX-License-Identifier: EPL-2.0 */
/* Basic types of the media libraries. */
#ifndef XMEDIA_TYPE_H
#define XMEDIA_TYPE_H

typedef signed char xmedia_s8;
typedef unsigned char xmedia_u8;
typedef short xmedia_s16;
typedef unsigned short xmedia_u16;
typedef int xmedia_s32;
typedef unsigned int xmedia_u32;
typedef long long xmedia_s64;
typedef unsigned long long xmedia_u64;
typedef float xmedia_float;
typedef double xmedia_double;
typedef char xmedia_char;
#define xmedia_void void

/* An enum, not C's bool: it takes four bytes in the calling convention. */
typedef enum { XMEDIA_FALSE = 0, XMEDIA_TRUE = 1 } xmedia_bool;

#define XMEDIA_NULL 0L
#define XMEDIA_SUCCESS 0
#define XMEDIA_FAILURE (-1)

#endif
