/* SPDX-License-Identifier: EPL-2.0 */
/* The NPU runtime: loads .xmm models and runs them. docs/simulator.md says what of it is imitated.
 *
 * Functions return XMEDIA_CL_SUCCESS or one of the negative codes of xmedia_cl_common.h. */
#ifndef XMEDIA_CL_H
#define XMEDIA_CL_H

#include "xmedia_cl_common.h"

#ifdef __cplusplus
extern "C" {
#endif

xmedia_cl_s32 xmedia_cl_init(void);
xmedia_cl_s32 xmedia_cl_uninit(void);

/* Preset *count to 0: a count that is not 0 is left alone, and that many handles are written. */
xmedia_cl_s32 xmedia_cl_get_device_ids(xmedia_cl_device_type_e type, xmedia_cl_device_id* devices,
                                       xmedia_cl_u32* count);
xmedia_cl_s32 xmedia_cl_release_device_ids(xmedia_cl_device_id* devices, xmedia_cl_u32* count);

/* Takes all devices (XMEDIA_CL_DEVICE_ALL) or none. One context per process: a second call returns the same. */
xmedia_cl_context xmedia_cl_create_context(xmedia_cl_u32 count, xmedia_cl_device_id* devices, xmedia_cl_s32* err);
xmedia_cl_s32 xmedia_cl_release_context(xmedia_cl_context context);

xmedia_cl_s32 xmedia_cl_graph_querysize_from_file(const char* path, xmedia_cl_u32* worksize, xmedia_cl_u32* weightsize);
xmedia_cl_s32 xmedia_cl_graph_querysize_from_buff(const char* model, xmedia_cl_u32* worksize,
                                                  xmedia_cl_u32* weightsize);
xmedia_cl_s32 xmedia_cl_graph_query_model_info_from_file(const char* path, void* info, xmedia_cl_model_info_type type);
xmedia_cl_s32 xmedia_cl_graph_query_model_info_from_buff(const char* model, void* info, xmedia_cl_model_info_type type);

xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_file(xmedia_cl_context* context, const char* path, xmedia_cl_graph* graph);
xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_buff(xmedia_cl_context* context, const char* model,
                                                  xmedia_cl_graph* graph);
xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_file_withmem(xmedia_cl_context* context, const char* path, void* workspace,
                                                          xmedia_cl_u32 worksize, void* weight,
                                                          xmedia_cl_u32 weightsize, xmedia_cl_graph* graph);
xmedia_cl_s32 xmedia_cl_graph_loadmodel_from_buff_withmem(xmedia_cl_context* context, const char* model,
                                                          void* workspace, xmedia_cl_u32 worksize, void* weight,
                                                          xmedia_cl_u32 weightsize, xmedia_cl_graph* graph);
xmedia_cl_s32 xmedia_cl_graph_unload(xmedia_cl_graph graph);

/* A workspace that several models share; models that are loaded without memory of the caller do not use it. */
xmedia_cl_s32 xmedia_cl_set_workspace_addr(xmedia_cl_context context, void* addr, xmedia_cl_u32 size);
xmedia_cl_s32 xmedia_cl_get_workspace_addr(xmedia_cl_context context, void** addr, xmedia_cl_u32* size);

/* With count 0 only info->num is written. */
xmedia_cl_s32 xmedia_cl_graph_get_input(xmedia_cl_graph graph, xmedia_cl_u32 count, xmedia_cl_tensor_info_inout* info);
xmedia_cl_s32 xmedia_cl_graph_get_output(xmedia_cl_graph graph, xmedia_cl_u32 count, xmedia_cl_tensor_info_inout* info);

/* Tensor i of a direction lives at the address of tensor 0 plus its offset, whatever its own address says. */
xmedia_cl_s32 xmedia_cl_graph_set_inout(xmedia_cl_graph graph, const xmedia_cl_tensor_info_inout* input,
                                        const xmedia_cl_tensor_info_inout* output);

xmedia_cl_s32 xmedia_cl_graph_process(xmedia_cl_graph graph);
xmedia_cl_s32 xmedia_cl_graph_submit(xmedia_cl_graph graph, xmedia_cl_event* event);
xmedia_cl_s32 xmedia_cl_wait_for_events(xmedia_cl_u32 count, xmedia_cl_event* events);
xmedia_cl_s32 xmedia_cl_set_event_callback(xmedia_cl_event event, xmedia_cl_s32 status,
                                           void (*notify)(xmedia_cl_event, xmedia_cl_s32, void*), void* user);
xmedia_cl_s32 xmedia_cl_query_event_status(xmedia_cl_event event, xmedia_cl_s32* status);
xmedia_cl_s32 xmedia_cl_release_event(xmedia_cl_event event);

xmedia_cl_s32 xmedia_cl_graph_set_schedule_prio(xmedia_cl_graph graph, xmedia_cl_u32 prio);
xmedia_cl_s32 xmedia_cl_graph_set_dynamic_batch_size(xmedia_cl_graph graph, xmedia_cl_tensor_info_inout* input,
                                                     xmedia_cl_u32 index, xmedia_cl_u32 batch);
xmedia_cl_s32 xmedia_cl_graph_get_memory_reuse_type(xmedia_cl_graph graph, xmedia_cl_memory_reuse_type* type);

xmedia_cl_s32 xmedia_cl_graph_get_private_data(xmedia_cl_graph graph, void** data, xmedia_cl_u32* size);
xmedia_cl_s32 xmedia_cl_graph_get_private_data_from_file(const char* path, void* data, xmedia_cl_u32 size);
xmedia_cl_s32 xmedia_cl_graph_get_private_data_from_buff(const char* model, void* data, xmedia_cl_u32 size);

xmedia_cl_s32 xmedia_cl_set_profiling(xmedia_cl_graph graph, xmedia_cl_profiling_params params);
xmedia_cl_s32 xmedia_cl_graph_set_compress_config(xmedia_cl_graph graph, void* head, xmedia_cl_u32 head_size,
                                                  xmedia_cl_u32 break_line);
xmedia_cl_s32 xmedia_cl_graph_communicate(xmedia_cl_graph graph, xmedia_cl_u32* id);
xmedia_cl_s32 xmedia_cl_graph_decommunicate(xmedia_cl_graph graph, xmedia_cl_u32 id);

#ifdef __cplusplus
}
#endif

#endif
