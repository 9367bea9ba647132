/* SPDX-License-Identifier: EPL-2.0 */
/* Status codes, enums and structs of the NPU runtime. Their layout is part of the ABI: see the assertions at the end.
 */
#ifndef XMEDIA_CL_COMMON_H
#define XMEDIA_CL_COMMON_H

#include <stddef.h>

/* A simulator, not the runtime of a board. */
#define XMEDIA_CL_SIMULATOR 1

#define XMEDIA_CL_SUCCESS 0
#define XMEDIA_CL_OUT_OF_HOST_MEMORY (-6)
#define XMEDIA_CL_INVALID_VALUE (-30)
#define XMEDIA_CL_INVALID_DEVICE_TYPE (-31)
#define XMEDIA_CL_INVALID_PLATFORM (-32)
#define XMEDIA_CL_INVALID_DEVICE (-33)
#define XMEDIA_CL_INVALID_CONTEXT (-34)
#define XMEDIA_CL_INVALID_COMMAND_QUEUE (-36)
#define XMEDIA_CL_INVALID_HOST_PTR (-37)
#define XMEDIA_CL_INVALID_MEM_OBJECT (-38)
#define XMEDIA_CL_INVALID_BINARY (-42)
#define XMEDIA_CL_INVALID_PROGRAM (-44)
#define XMEDIA_CL_INVALID_PROGRAM_EXECUTABLE (-45)
#define XMEDIA_CL_INVALID_KERNEL_NAME (-46)
#define XMEDIA_CL_INVALID_KERNEL (-48)
#define XMEDIA_CL_INVALID_ARG_INDEX (-49)
#define XMEDIA_CL_INVALID_ARG_VALUE (-50)
#define XMEDIA_CL_INVALID_ARG_SIZE (-51)
#define XMEDIA_CL_INVALID_KERNEL_ARGS (-52)
#define XMEDIA_CL_WAIT_EVENT_FAILED (-56)
#define XMEDIA_CL_INVALID_EVENT_WAIT_LIST (-57)
#define XMEDIA_CL_INVALID_EVENT (-58)
#define XMEDIA_CL_INVALID_OPERATION (-59)
#define XMEDIA_CL_INVALID_UNINIT (-60)
#define XMEDIA_CL_INVALID_BUFFER_SIZE (-61)
#define XMEDIA_CL_INVALID_USER_FUNC (-62)
#define XMEDIA_CL_ALREADY_INIT (-63)
#define XMEDIA_CL_INVALID_MODEL (-64)
#define XMEDIA_CL_READ_MODEL_FAIL (-65)
#define XMEDIA_CL_INSUFFICIENT_SIZE (-66)
#define XMEDIA_CL_CALL_INTERFUNC_ERR (-67)
#define XMEDIA_CL_ERROR_MODEL_TYPE (-68)
#define XMEDIA_CL_ERROR_ADDR_ALIGN (-69)
#define XMEDIA_CL_UNSUPPORT_DYNAMIC_OUTPUT (-70)
#define XMEDIA_CL_MODEL_DECOMPRESS_FAIL (-71)
#define XMEDIA_CL_ERROR_COMPRESS_TYPE (-72)
#define XMEDIA_CL_ERROR_PROC_TYPE (-73)
#define XMEDIA_CL_OUT_OF_MAX_BATCH (-74)
#define XMEDIA_CL_NOT_FIND_FILE (-75)
#define XMEDIA_CL_CONTEXT_WORKSPACE_FAIL (-76)
#define XMEDIA_CL_PRIVATE_DATA_NULL (-77)
#define XMEDIA_CL_PRIVATE_DATA_SIZE_ERROR (-78)
#define XMEDIA_CL_UNSUPPORT_INFO_TYPE (-79)

#define XMEDIA_CL_MAX_DIMS_NUM 8
/* Length of tensor_batch.batch; the largest batch of a tensor is 32. */
#define XMEDIA_CL_BATCH_NUM 8

#define XMEDIA_CL_JOB_SCHEDULE_PRIO_MIN 0
#define XMEDIA_CL_JOB_SCHEDULE_PRIO_MEDIUM 1
#define XMEDIA_CL_JOB_SCHEDULE_PRIO_HIGH 2
#define XMEDIA_CL_JOB_SCHEDULE_PRIO_MAX 3

typedef char xmedia_cl_s8;
typedef unsigned char xmedia_cl_u8;
typedef short xmedia_cl_s16;
typedef unsigned short xmedia_cl_u16;
typedef int xmedia_cl_s32;
typedef unsigned int xmedia_cl_u32;
typedef long long xmedia_cl_s64;
typedef unsigned long long xmedia_cl_u64;
typedef float xmedia_cl_float;
typedef double xmedia_cl_double;

typedef struct _xmedia_cl_device_id* xmedia_cl_device_id;
typedef struct _xmedia_cl_context* xmedia_cl_context;
typedef struct _xmedia_cl_event* xmedia_cl_event;
typedef void* xmedia_cl_graph;

typedef enum { XMEDIA_CL_DEVICE_CPU = 0, XMEDIA_CL_DEVICE_NPU = 1, XMEDIA_CL_DEVICE_ALL = 2 } xmedia_cl_device_type_e;

/* Where a tensor lives. */
typedef enum {
    XMEDIA_CL_TENSOR_INPUT = 0,
    XMEDIA_CL_TENSOR_CONST = 1,
    XMEDIA_CL_TENSOR_OUTPUT = 2,
    XMEDIA_CL_TENSOR_WORKSPACE = 3
} xmedia_cl_tensor_type_e;

typedef enum {
    XMEDIA_CL_QUEUED = 0,
    XMEDIA_CL_SUBMITTED = 1,
    XMEDIA_CL_RUNNING = 2,
    XMEDIA_CL_COMPLETED = 3,
    XMEDIA_CL_FAILED = 4
} xmedia_cl_status_e;

typedef enum {
    XMEDIA_CL_INT8 = 0,
    XMEDIA_CL_UINT8 = 1,
    XMEDIA_CL_INT16 = 2,
    XMEDIA_CL_UINT16 = 3,
    XMEDIA_CL_FP16 = 4,
    XMEDIA_CL_INT32 = 5,
    XMEDIA_CL_FP32 = 6,
    XMEDIA_CL_INT4 = 7,
    XMEDIA_CL_UINT12 = 8,
    XMEDIA_CL_UINT10 = 9,
    XMEDIA_CL_DATA_TYPE_END = 10
} xmedia_cl_data_type;

typedef enum {
    XMEDIA_CL_FORMAT_RGB = 0,
    XMEDIA_CL_FORMAT_RGrGbB = 1,
    XMEDIA_CL_FORMAT_BGbGrR = 2,
    XMEDIA_CL_FORMAT_GrRBGb = 3,
    XMEDIA_CL_FORMAT_GbBRGr = 4,
    XMEDIA_CL_FORMAT_YUV = 5,
    XMEDIA_CL_FORMAT_YVU = 6
} xmedia_cl_data_format;

/* What else the workspace holds. */
typedef enum {
    XMEDIA_CL_WORKSPACE = 0,
    XMEDIA_CL_WORKSPACE_INPUT = 1,
    XMEDIA_CL_WORKSPACE_OUTPUT = 2,
    XMEDIA_CL_WORKSPACE_INPUT_OUTPUT = 3
} xmedia_cl_memory_reuse_type;

typedef enum { XMEDIA_CL_MEM_INFO = 0 } xmedia_cl_model_info_type;

typedef enum { XMEDIA_CL_PROFILING_TYPE_NORMAL = 0, XMEDIA_CL_PROFILING_TYPE_SIMPLE = 1 } xmedia_cl_profiling_type_e;
typedef enum { XMEDIA_CL_PROFILING_OFF = 0, XMEDIA_CL_PROFILING_ON = 1 } xmedia_cl_profiling_flag_e;

typedef struct {
    xmedia_cl_u32 ndims;
    xmedia_cl_u32 dims[XMEDIA_CL_MAX_DIMS_NUM];
    xmedia_cl_u32 pch[XMEDIA_CL_MAX_DIMS_NUM]; /* Bytes from one index of a dimension to the next. */
    xmedia_cl_data_type type;
} xmedia_cl_tensor_shape;

/* real = (stored - zp) * scale */
typedef struct {
    xmedia_cl_float scale;
    xmedia_cl_s32 zp;
} xmedia_cl_tensor_quant;

typedef struct {
    xmedia_cl_u32 batch_count;
    xmedia_cl_u32 batch[XMEDIA_CL_BATCH_NUM];
} xmedia_cl_tensor_batch;

typedef struct {
    xmedia_cl_u32 tensor_id;
    void* addr; /* Before it is bound: the offset in its region, as a number. */
    xmedia_cl_tensor_shape shape;
    xmedia_cl_tensor_quant quant;
    xmedia_cl_u32 size;
    xmedia_cl_s8* name; /* NULL when the model gives none; lives as long as the graph. */
} xmedia_cl_tensor;

/* The three arrays belong to the caller and have `num` elements. */
typedef struct {
    xmedia_cl_u32 num;
    xmedia_cl_tensor* tensor;
    xmedia_cl_tensor_batch* tensor_batch;
    xmedia_cl_u32* current_batch;
} xmedia_cl_tensor_info_inout;

typedef struct {
    xmedia_cl_u32 num;
    xmedia_cl_u32* id;
} xmedia_cl_tensor_list;

typedef struct {
    xmedia_cl_u32 worksize;
    xmedia_cl_u32 weightsize;
    xmedia_cl_u32 inputsize;
    xmedia_cl_u32 outputsize;
    xmedia_cl_u32 codesize;
    xmedia_cl_memory_reuse_type memory_reuse_type;
    xmedia_cl_u32 private_data_size;
} xmedia_cl_mem_info;

typedef struct {
    xmedia_cl_profiling_type_e type;
    xmedia_cl_profiling_flag_e flag;
} xmedia_cl_profiling_params;

/* ABI of the board's library, where pointers have 4 bytes, and of the same structs where they have 8. */
#if defined(__cplusplus)
#define XMEDIA_CL_ASSERT_(condition) static_assert(condition, #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define XMEDIA_CL_ASSERT_(condition) _Static_assert(condition, #condition)
#else
#define XMEDIA_CL_JOIN2_(a, b) a##b
#define XMEDIA_CL_JOIN_(a, b) XMEDIA_CL_JOIN2_(a, b)
#define XMEDIA_CL_ASSERT_(condition)                                                                                   \
    struct XMEDIA_CL_JOIN_(xmedia_cl_assert_line_, __LINE__) {                                                         \
        unsigned holds : (condition) ? 1 : -1;                                                                         \
    }
#endif
#define XMEDIA_CL_PTR_(bits32, bits64) (sizeof(void*) == 4 ? (bits32) : (bits64))
#define XMEDIA_CL_SIZE_(type, bits32, bits64) XMEDIA_CL_ASSERT_(sizeof(type) == XMEDIA_CL_PTR_(bits32, bits64))
#define XMEDIA_CL_AT_(type, member, bits32, bits64)                                                                    \
    XMEDIA_CL_ASSERT_(offsetof(type, member) == XMEDIA_CL_PTR_(bits32, bits64))

XMEDIA_CL_SIZE_(xmedia_cl_device_type_e, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_status_e, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_data_type, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_memory_reuse_type, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_model_info_type, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_u64, 8, 8);
XMEDIA_CL_SIZE_(xmedia_cl_graph, 4, 8);
XMEDIA_CL_SIZE_(xmedia_cl_event, 4, 8);
XMEDIA_CL_SIZE_(xmedia_cl_tensor_shape, 72, 72);
XMEDIA_CL_AT_(xmedia_cl_tensor_shape, ndims, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor_shape, dims, 4, 4);
XMEDIA_CL_AT_(xmedia_cl_tensor_shape, pch, 36, 36);
XMEDIA_CL_AT_(xmedia_cl_tensor_shape, type, 68, 68);
XMEDIA_CL_SIZE_(xmedia_cl_tensor_quant, 8, 8);
XMEDIA_CL_AT_(xmedia_cl_tensor_quant, scale, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor_quant, zp, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_tensor_batch, 36, 36);
XMEDIA_CL_AT_(xmedia_cl_tensor_batch, batch_count, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor_batch, batch, 4, 4);
XMEDIA_CL_SIZE_(xmedia_cl_tensor, 96, 112);
XMEDIA_CL_AT_(xmedia_cl_tensor, tensor_id, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor, addr, 4, 8);
XMEDIA_CL_AT_(xmedia_cl_tensor, shape, 8, 16);
XMEDIA_CL_AT_(xmedia_cl_tensor, quant, 80, 88);
XMEDIA_CL_AT_(xmedia_cl_tensor, size, 88, 96);
XMEDIA_CL_AT_(xmedia_cl_tensor, name, 92, 104);
XMEDIA_CL_SIZE_(xmedia_cl_tensor_info_inout, 16, 32);
XMEDIA_CL_AT_(xmedia_cl_tensor_info_inout, num, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor_info_inout, tensor, 4, 8);
XMEDIA_CL_AT_(xmedia_cl_tensor_info_inout, tensor_batch, 8, 16);
XMEDIA_CL_AT_(xmedia_cl_tensor_info_inout, current_batch, 12, 24);
XMEDIA_CL_SIZE_(xmedia_cl_tensor_list, 8, 16);
XMEDIA_CL_AT_(xmedia_cl_tensor_list, num, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_tensor_list, id, 4, 8);
XMEDIA_CL_SIZE_(xmedia_cl_mem_info, 28, 28);
XMEDIA_CL_AT_(xmedia_cl_mem_info, worksize, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_mem_info, weightsize, 4, 4);
XMEDIA_CL_AT_(xmedia_cl_mem_info, inputsize, 8, 8);
XMEDIA_CL_AT_(xmedia_cl_mem_info, outputsize, 12, 12);
XMEDIA_CL_AT_(xmedia_cl_mem_info, codesize, 16, 16);
XMEDIA_CL_AT_(xmedia_cl_mem_info, memory_reuse_type, 20, 20);
XMEDIA_CL_AT_(xmedia_cl_mem_info, private_data_size, 24, 24);
XMEDIA_CL_SIZE_(xmedia_cl_profiling_params, 8, 8);
XMEDIA_CL_AT_(xmedia_cl_profiling_params, type, 0, 0);
XMEDIA_CL_AT_(xmedia_cl_profiling_params, flag, 4, 4);

#endif
