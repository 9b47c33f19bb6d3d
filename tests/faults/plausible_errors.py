"""Which errors a driver call may plausibly return, by entry point; and which calls stand for one that was held."""

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, INVALID_CONTEXT = 1, 2, 3, 201
INVALID_HANDLE, ILLEGAL_STATE, NOT_FOUND, NOT_READY = 400, 401, 500, 600
LAUNCH_OUT_OF_RESOURCES, NOT_PERMITTED, NOT_SUPPORTED = 701, 800, 801
CAPTURE_UNSUPPORTED, CAPTURE_IMPLICIT, GRAPH_UPDATE_FAILURE, UNKNOWN = 900, 906, 910, 999

LAUNCH = [LAUNCH_OUT_OF_RESOURCES, OUT_OF_MEMORY, INVALID_VALUE]
UPDATE = [GRAPH_UPDATE_FAILURE, INVALID_VALUE, OUT_OF_MEMORY]
ASK = [INVALID_VALUE, INVALID_HANDLE, NOT_SUPPORTED, CAPTURE_IMPLICIT]
OTHER = [OUT_OF_MEMORY, INVALID_VALUE, NOT_SUPPORTED, ILLEGAL_STATE]

ERRORS = {
    "cuInit": [100, OUT_OF_MEMORY, UNKNOWN],
    "cuLaunchKernel": LAUNCH,
    "cuLaunchKernelEx": LAUNCH,
    "cuLaunchCooperativeKernel": LAUNCH,
    "cuGraphLaunch": LAUNCH + [ILLEGAL_STATE],
    "cuGraphExecKernelNodeSetParams": UPDATE,
    "cuGraphExecMemsetNodeSetParams": UPDATE,
    "cuGraphExecMemcpyNodeSetParams": UPDATE,
    "cuStreamIsCapturing": [CAPTURE_IMPLICIT, INVALID_HANDLE, NOT_SUPPORTED],
    "cuStreamGetCtx": ASK,
    "cuStreamGetFlags": ASK,
    "cuStreamGetPriority": ASK,
    "cuStreamGetAttribute": ASK,
    "cuCtxGetCurrent": [NOT_INITIALIZED, INVALID_CONTEXT, UNKNOWN],
    "cuCtxPushCurrent": [INVALID_CONTEXT, OUT_OF_MEMORY, UNKNOWN],
    "cuCtxPopCurrent": [INVALID_CONTEXT, UNKNOWN],
    "cuThreadExchangeStreamCaptureMode": [INVALID_VALUE, NOT_INITIALIZED],
    "cuEventQuery": [NOT_READY, INVALID_HANDLE],
    "cuEventRecord": [INVALID_HANDLE, OUT_OF_MEMORY, CAPTURE_UNSUPPORTED],
    # A list of parameters ends with INVALID_VALUE, which is no failure there.
    "cuFuncGetParamInfo": [INVALID_HANDLE, NOT_SUPPORTED, OUT_OF_MEMORY],
    "cuKernelGetParamInfo": [INVALID_HANDLE, NOT_SUPPORTED, OUT_OF_MEMORY],
    "cuFuncGetName": [INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY],
    "cuKernelGetName": [INVALID_HANDLE, INVALID_VALUE, OUT_OF_MEMORY],
    "cuMemGetAddressRange": [NOT_FOUND, INVALID_VALUE, NOT_SUPPORTED],
}

# What Refrain calls to issue an operation that it held: the program made that call before.
ISSUES = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuMemsetD8Async", "cuMemsetD16Async",
          "cuMemsetD32Async", "cuMemsetD2D8Async", "cuMemsetD2D16Async", "cuMemsetD2D32Async", "cuMemcpyDtoDAsync",
          "cuMemcpyAsync")


def plain(name):
    """The name without its version and variant: cuMemAlloc of cuMemAlloc_v2."""
    for variant in ("_ptsz", "_ptds"):
        name = name.removesuffix(variant)
    return name[:-3] if name[-3:-1] == "_v" else name


def errors_of(name):
    return ERRORS.get(plain(name), OTHER)
