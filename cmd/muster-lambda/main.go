// Command muster-lambda is the Lambda functions of Muster, for the runtime provided.al2023. MUSTER_FUNCTION chooses the
// function; docs/lambda.md explains all of them. The work is that of package app/function.
//
// Build it with -tags lambda.norpc, which leaves out a protocol that this runtime does not have.
package main

import (
	"context"
	"os"
	_ "time/tzdata" // schedules know their zones although the runtime has none

	"github.com/muster-scale/muster/app/function"
)

func main() {
	ctx := context.Background()
	f, err := function.New(ctx, function.Options{})
	os.Exit(function.Serve(ctx, f, err, os.Stderr))
}
