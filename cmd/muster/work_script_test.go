package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

// serveWork is the command endpoint of the scripts: an HTTP endpoint that does work. It takes its address and a file
// that gets a line for each request, refuses a body the first time when it begins with "once", and ends when it is
// killed.
func serveWork() {
	var mu sync.Mutex
	seen := map[string]bool{}
	log, err := os.Create(os.Args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	err = http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintln(log, r.Method, r.URL.Path, r.Header.Get("Content-Type"), r.Header.Get("X-Aws-Sqsd-Queue"),
			r.Header.Get("X-Muster-Attempt"), string(body))
		if id := r.Header.Get("X-Aws-Sqsd-Msgid"); len(body) > 4 && string(body[:4]) == "once" && !seen[id] {
			seen[id] = true
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
