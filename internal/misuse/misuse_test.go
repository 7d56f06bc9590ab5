package misuse_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/muster-scale/muster/internal/misuse"
)

func TestAnErrorAboutTheRequestIsFoundBelowOthers(t *testing.T) {
	err := misuse.Setting("slots", "found %d, allowed is 1 or more", 0)
	if got := err.Error(); got != "slots: found 0, allowed is 1 or more" {
		t.Errorf("the error says %q", got)
	}
	if !misuse.Is(fmt.Errorf("begin: %w", err)) || misuse.Is(errors.New("the disk is full")) {
		t.Error("an error about the request is not told from another")
	}
	if misuse.Wrap(nil) != nil {
		t.Error("no error was made one")
	}
}

func TestNamesAreBounded(t *testing.T) {
	for want, names := range map[string][]string{"none yet": nil, "a, b": {"a", "b"},
		"a, b and 2 more": {"a", "b", "c", "d"}} {
		if got := misuse.Names(names, 2); got != want {
			t.Errorf("%q are named as %q, want %q", names, got, want)
		}
	}
}
