/* SPDX-License-Identifier: EPL-2.0 */
/* The media system. An NPU program starts it first and stops it last. */
#ifndef XMEDIA_SYS_H
#define XMEDIA_SYS_H

#include "xmedia_type.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Describes video pipes, which an NPU program does not have: pass NULL. */
typedef struct xmedia_sys_config xmedia_sys_config;

xmedia_s32 xmedia_sys_init(const xmedia_sys_config* config);
xmedia_s32 xmedia_sys_exit(void);

#ifdef __cplusplus
}
#endif

#endif
