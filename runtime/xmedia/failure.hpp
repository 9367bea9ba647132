// SPDX-License-Identifier: EPL-2.0
// How a session reports what went wrong: one line that names stage, call, the library's code, and what to do about it.
#pragma once

#include <cstdarg>
#include <cstdio>

namespace export_xmedia {

/// The stages that a session goes through, in this order.
enum class Stage { check, system, device, query, memory, load, tensors, run, release };

/// The last failure of this thread, empty when there was none.
inline thread_local char last_error[512] = "";
/// The library's code of the last failure, 0 when the failure is none of the library's.
inline thread_local int last_code = 0;

inline const char* stage_name(Stage stage) {
    switch (stage) {
        case Stage::check: return "check of the model file";
        case Stage::system: return "stage 1, system initialization";
        case Stage::device: return "stage 2, device and context";
        case Stage::query: return "stage 3, query of memory sizes";
        case Stage::memory: return "stage 4, allocation of MMZ memory";
        case Stage::load: return "stage 5, loading the model";
        case Stage::tensors: return "stage 6, inputs and outputs";
        case Stage::run: return "stage 7, inference";
        case Stage::release: return "stage 8, release";
    }
    return "unknown stage";
}

/// The library's name of a code, without its prefix XMEDIA_CL_.
inline const char* code_name(int code) {
    switch (code) {
        case 0: return "SUCCESS";
        case -1: return "FAILURE";
        case -6: return "OUT_OF_HOST_MEMORY";
        case -30: return "INVALID_VALUE";
        case -31: return "INVALID_DEVICE_TYPE";
        case -32: return "INVALID_PLATFORM";
        case -33: return "INVALID_DEVICE";
        case -34: return "INVALID_CONTEXT";
        case -36: return "INVALID_COMMAND_QUEUE";
        case -37: return "INVALID_HOST_PTR";
        case -38: return "INVALID_MEM_OBJECT";
        case -42: return "INVALID_BINARY";
        case -44: return "INVALID_PROGRAM";
        case -45: return "INVALID_PROGRAM_EXECUTABLE";
        case -46: return "INVALID_KERNEL_NAME";
        case -48: return "INVALID_KERNEL";
        case -49: return "INVALID_ARG_INDEX";
        case -50: return "INVALID_ARG_VALUE";
        case -51: return "INVALID_ARG_SIZE";
        case -52: return "INVALID_KERNEL_ARGS";
        case -56: return "WAIT_EVENT_FAILED";
        case -57: return "INVALID_EVENT_WAIT_LIST";
        case -58: return "INVALID_EVENT";
        case -59: return "INVALID_OPERATION";
        case -60: return "INVALID_UNINIT";
        case -61: return "INVALID_BUFFER_SIZE";
        case -62: return "INVALID_USER_FUNC";
        case -63: return "ALREADY_INIT";
        case -64: return "INVALID_MODEL";
        case -65: return "READ_MODEL_FAIL";
        case -66: return "INSUFFICIENT_SIZE";
        case -67: return "CALL_INTERFUNC_ERR";
        case -68: return "ERROR_MODEL_TYPE";
        case -69: return "ERROR_ADDR_ALIGN";
        case -70: return "UNSUPPORT_DYNAMIC_OUTPUT";
        case -71: return "MODEL_DECOMPRESS_FAIL";
        case -72: return "ERROR_COMPRESS_TYPE";
        case -73: return "ERROR_PROC_TYPE";
        case -74: return "OUT_OF_MAX_BATCH";
        case -75: return "NOT_FIND_FILE";
        case -76: return "CONTEXT_WORKSPACE_FAIL";
        case -77: return "PRIVATE_DATA_NULL";
        case -78: return "PRIVATE_DATA_SIZE_ERROR";
        case -79: return "UNSUPPORT_INFO_TYPE";
        default: return "unknown code";
    }
}

/// What most often is behind a code in a stage.
inline const char* hint(Stage stage, int code) {
    switch (code) {
        case -6: return "no memory; the model's code takes MMZ memory as well";
        case -64: return "the file is damaged, or no model for this NPU";
        case -65: return "the file cannot be read, or is cut short";
        case -56: return "the NPU gave the job up";
        case -68: return "the file was compiled for another kind of NPU";
        case -69: return "an address is not a multiple of 8";
        case -74: return "the largest batch is 32";
        case -76: return "the context has a shared workspace already, or has none";
        default: break;
    }
    switch (stage) {
        case Stage::system: return "is the driver loaded? In the folder of the kernel modules: ./load <chip> -i";
        case Stage::device:
            return code == -30 ? "the context takes all devices (XMEDIA_CL_DEVICE_ALL), neither more nor fewer"
                               : "is the NPU's driver loaded? There must be a /dev/npu.0; insmod xm_npu.ko";
        case Stage::query:
            return code == -30 ? "the file wants a memory reuse type that the library does not know" : "";
        case Stage::memory: return "MMZ is full, or the driver was loaded without a zone (its argument mmz=)";
        case Stage::load:
            return code == -67  ? "the memory for the weights is too small, or MMZ is full"
                   : code == -1 ? "the memory is not MMZ memory"
                                : "";
        case Stage::run:
            return code == -67   ? "the NPU gave the job up"
                   : code == -57 ? "the NPU did not take the job"
                   : code == -30 ? "an address is not MMZ memory, or tensors are missing"
                                 : "";
        default: return "";
    }
}

/// Records a failure of our own, told in words.
/// \return Always false, so that callers can write `return fail(...)`.
[[gnu::format(printf, 2, 3)]] inline bool fail_text(Stage stage, const char* format, ...) {
    char text[384];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    last_code = 0;
    std::snprintf(last_error, sizeof last_error, "NPU, %s: %s", stage_name(stage), text);
    return false;
}

/// Records that a call of the library failed.
/// \return Always false, so that callers can write `return fail(...)`.
inline bool fail(Stage stage, const char* call, int code) {
    const char* advice = hint(stage, code);
    last_code = code;
    std::snprintf(last_error, sizeof last_error, "NPU, %s: %s: %s%s (%d)%s%s", stage_name(stage), call,
                  code < -1 ? "XMEDIA_CL_" : "XMEDIA_", code_name(code), code, *advice != '\0' ? ": " : "", advice);
    return false;
}

/// Whether a call went well; records the failure otherwise.
inline bool check(Stage stage, const char* call, int code) {
    return code == 0 || fail(stage, call, code);
}

/// A call of the library that failed where there was no more to do about it.
struct Complaint {
    const char* call = "";
    int code = 0;

    void note(const char* function, int result) {
        if (code == 0 && result != 0) {
            call = function;
            code = result;
        }
    }
};

}  // namespace export_xmedia
