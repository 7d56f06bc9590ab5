// wasm_exec.js comes with Go, and is found by the build.
declare module "go/wasm_exec.js";
