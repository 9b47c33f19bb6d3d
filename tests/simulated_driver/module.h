// Code objects: modules and libraries, functions and kernels.
//
// A module belongs to a context and has *functions* (CUfunction). A library belongs to none and has *kernels*
// (CUkernel), which become functions of a module of their own in each context that uses them.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tests/simulated_driver/handle_table.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/ptx.h"

namespace refrain::tests::simulated {

/// What is fixed about one entry of an image.
struct Code {
  PtxEntry entry;
  int ptx_version = 0;
  mutable std::atomic<KernelBody> body{nullptr};  ///< looked up at the first launch
  std::shared_ptr<std::atomic<bool>> unloaded;    ///< its image is gone: running it is a fault
};

/// The attributes of a function that can be set.
struct FunctionSettings {
  std::atomic<int> max_dynamic_shared{-1};  ///< -1: the default
  std::atomic<int> carveout{-1};
  std::array<std::atomic<int>, 3> cluster{};
  std::atomic<int> non_portable_cluster{0};
  std::atomic<int> cluster_policy{0};
  std::atomic<int> cache{0};
  std::array<int, 3> legacy_block{1, 1, 1};  ///< cuFuncSetBlockShape
  int legacy_shared = 0;                     ///< cuFuncSetSharedSize
  std::vector<std::byte> legacy_parameters;  ///< cuParamSet*
};

struct Module;
struct Library;

struct Function {
  CUfunction handle = nullptr;
  std::shared_ptr<const Code> code;
  std::shared_ptr<Context> context;
  std::weak_ptr<Module> module;
  std::weak_ptr<struct Kernel> kernel;  ///< of a library's function
  FunctionSettings settings;
};

struct Kernel {
  CUkernel handle = nullptr;
  std::shared_ptr<const Code> code;
  std::weak_ptr<Library> library;
  std::array<FunctionSettings, max_devices> settings;
};

struct Module {
  CUmodule handle = nullptr;
  std::shared_ptr<Context> context;
  std::map<std::string, std::shared_ptr<Function>> functions;
  std::map<std::string, std::shared_ptr<Allocation>> variables;
  std::shared_ptr<std::atomic<bool>> unloaded;
  bool of_library = false;
};

struct Library {
  CUlibrary handle = nullptr;
  PtxModule image;
  CUresult image_error = CUDA_SUCCESS;  ///< of a code that could not be read: told at the first use
  std::vector<std::shared_ptr<Kernel>> kernels;
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<Module>> modules;  ///< by context id
  std::shared_ptr<std::atomic<bool>> unloaded = std::make_shared<std::atomic<bool>>(false);
};

HandleTable<CUmodule, Module>& modules();
HandleTable<CUfunction, Function>& functions();
HandleTable<CUlibrary, Library>& libraries();
HandleTable<CUkernel, Kernel>& kernels();

/// The image as text: PTX, also inside the wrapper of a fat binary that holds text.
CUresult load_image(const void* image, PtxModule* module);
CUresult read_file(const char* name, std::string* text);

CUresult create_module(const PtxModule& image, const std::shared_ptr<Context>& context,
                       const std::shared_ptr<Library>& library, std::shared_ptr<Module>* module);
void end_module(const std::shared_ptr<Module>& module);
/// Ends all modules of a context that is being destroyed.
void drop_modules(const std::shared_ptr<Context>& context);

/// The module of a library in a context, made at the first use.
CUresult module_of_library(const std::shared_ptr<Library>& library, const std::shared_ptr<Context>& context,
                           std::shared_ptr<Module>* module);

/// What a handle passed as CUfunction names: a function, or a kernel. Exactly one is set on success.
struct Callee {
  std::shared_ptr<Function> function;
  std::shared_ptr<Kernel> kernel;
  const std::shared_ptr<const Code>& code() const { return function != nullptr ? function->code : kernel->code; }
  FunctionSettings& settings(int device) const;
  /// Most dynamic shared memory as it was set, -1 if it was not: a function's own setting goes before its kernel's.
  int dynamic_shared_setting(const Context& context) const;
};
CUresult find_callee(CUfunction handle, Callee* callee);

CUresult get_attribute(const Code& code, const FunctionSettings& settings, int dynamic_shared,
                       CUfunction_attribute attribute, int* value);
CUresult set_attribute(const Code& code, FunctionSettings& settings, CUfunction_attribute attribute, int value);
/// Largest dynamic shared memory that a launch may ask for; `setting` as above.
unsigned dynamic_shared_limit(const Code& code, int setting);

constexpr int shared_per_block = 49152;
constexpr int shared_per_block_optin = 232448;

}  // namespace refrain::tests::simulated
