//go:build !js

package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/muster-scale/muster/app/playground"
)

func main() {
	file := flag.String("file", "", "the file that the request names")
	flag.Parse()
	if err := answer(*file); err != nil {
		fmt.Fprintln(os.Stderr, "playground:", err)
		os.Exit(1)
	}
}

// answer reads the request from standard input and prints the answer.
func answer(file string) error {
	request, err := io.ReadAll(io.LimitReader(os.Stdin, playground.MaxRequest+1))
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	var content []byte
	if file != "" {
		if content, err = os.ReadFile(file); err != nil {
			return err
		}
	}
	_, err = os.Stdout.Write(playground.Answer(request, content, nil))
	return err
}
