//go:build js && wasm

package main

import (
	"syscall/js"

	"github.com/muster-scale/muster/app/playground"
)

// main answers the request in the global variable musterRequest. The file is in musterContent, a Uint8Array, or null
// without one. It calls musterProgress with a share, and musterAnswer with the answer.
func main() {
	page := js.Global()
	var content []byte
	if bytes := page.Get("musterContent"); bytes.Truthy() {
		content = make([]byte, bytes.Get("length").Int())
		js.CopyBytesToGo(content, bytes)
	}
	answer := playground.Answer([]byte(page.Get("musterRequest").String()), content, func(share float64) {
		page.Call("musterProgress", share)
	})
	page.Call("musterAnswer", string(answer))
}
