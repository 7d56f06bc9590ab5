package status_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/app/status"
)

func TestAWatchPrintsUntilItIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), 3*status.WatchEvery+time.Millisecond)
		defer stop()
		var out bytes.Buffer
		n := 0
		err := status.Watch(ctx, &out, func(w io.Writer) error {
			n++
			_, err := fmt.Fprintf(w, "status %d\n", n)
			return err
		})
		if want := "status 1\n\nstatus 2\n\nstatus 3\n\nstatus 4\n"; err != nil || out.String() != want {
			t.Errorf("found %v, %q", err, out.String())
		}
	})
}

func TestAWatchEndsWithAnError(t *testing.T) {
	gone := errors.New("gone")
	var out bytes.Buffer
	if err := status.Watch(t.Context(), &out, func(io.Writer) error { return gone }); !errors.Is(err, gone) {
		t.Errorf("found %v", err)
	}
}
