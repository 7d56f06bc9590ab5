package app

import (
	"net"
	"testing"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/kinds"
)

// TestOpenFailsWhole holds that an App which cannot be opened is none, and that every option may be left out.
func TestOpenFailsWhole(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c, err := kinds.Parse("m.yaml", []byte("version: 1\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Data, c.Listen = t.TempDir(), config.Listen{Queue: "127.0.0.1:0", API: taken.Addr().String()}
	if a, err := Open(t.Context(), c, Options{}); err == nil || a != nil {
		t.Errorf("with the port taken: found %v, %v; want no App and an error", a, err)
	}
	c.Listen.API = "127.0.0.1:0"
	a, err := Open(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
