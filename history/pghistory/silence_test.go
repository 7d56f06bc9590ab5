package pghistory

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestAConnectionToASilentServerFails holds that a call ends although the server, which accepted the connection, says
// nothing.
func TestAConnectionToASilentServerFails(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	server, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	c, err := dialer{silence: 20 * time.Millisecond}.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("found %v, want the end of a deadline", err)
	}
}
