/* SPDX-License-Identifier: EPL-2.0 */
/* The headers are C99, and a C program that does the usual calls runs. */
#include "xmedia_cl.h"
#include "xmedia_mmz.h"
#include "xmedia_sys.h"

#include <stdio.h>

int main(int argc, char** argv) {
    xmedia_cl_u32 count = 0;
    xmedia_cl_u32 worksize = 0;
    xmedia_cl_u32 weightsize = 0;
    xmedia_cl_device_id devices[2];
    xmedia_cl_s32 err = -1;
    xmedia_cl_context context;
    if (argc < 2 || xmedia_sys_init(XMEDIA_NULL) != XMEDIA_SUCCESS || xmedia_cl_init() != XMEDIA_CL_SUCCESS ||
        xmedia_cl_get_device_ids(XMEDIA_CL_DEVICE_ALL, devices, &count) != XMEDIA_CL_SUCCESS || count != 2) {
        return 1;
    }
    context = xmedia_cl_create_context(count, devices, &err);
    if (context == NULL || err != XMEDIA_CL_SUCCESS ||
        xmedia_cl_graph_querysize_from_file(argv[1], &worksize, &weightsize) != XMEDIA_CL_SUCCESS) {
        return 1;
    }
    printf("%u %u\n", worksize, weightsize);
    return xmedia_cl_release_context(context) || xmedia_cl_release_device_ids(devices, &count) || xmedia_cl_uninit() ||
           xmedia_sys_exit();
}
