package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/server"
)

func TestOnlyLoopbackIsListenedOn(t *testing.T) {
	for _, address := range []string{
		"0.0.0.0:0", ":0", "[::]:0", "10.0.0.7:0", "192.168.1.5:0", "169.254.169.254:0", "[fe80::1]:0",
		"[::ffff:10.0.0.7]:0", "example.com:0",
		"muster.internal:0", "localhost.evil.example:0", "2130706433:0", "127.1:0", "*:0",
	} {
		l, err := server.Listen(address)
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "only loopback addresses are allowed") {
			t.Errorf("%s: found error %v, want it refused", address, err)
		}
	}
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "127.0.0.2:0"} {
		l, err := server.Listen(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		if ip := l.Addr().(*net.TCPAddr).IP; !ip.IsLoopback() {
			t.Errorf("%s: listens on %v", address, ip)
		}
		l.Close()
	}
}

func TestAListenErrorSaysWhatToDo(t *testing.T) {
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for address, says := range map[string]string{
		l.Addr().String(): "choose another address under listen:", "127.0.0.1": "give an address like 127.0.0.1:9325",
		"": "give an address like", "127.0.0.1:x": "choose another",
	} {
		if _, err := server.Listen(address); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: found error %v, want one that says %q", address, err, says)
		}
	}
}

// serve runs s at a port of its own until the test ends, and returns the address.
func serve(t *testing.T, s *http.Server) string {
	t.Helper()
	l, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, l, s) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
			c.Close()
			t.Error("it still listens after it ended")
		}
	})
	return l.Addr().String()
}

func TestTheAPIIsServedUntilItsContextEnds(t *testing.T) {
	address := serve(t, server.NewServer(newWorld(t).serves))
	answer, err := http.Get("http://" + address + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || string(text) != "ok\n" {
		t.Errorf("found %q, %v", text, err)
	}
}

func TestASlowClientIsCutOff(t *testing.T) {
	s := server.NewServer(newWorld(t).serves)
	for name, limit := range map[string]time.Duration{"header": s.ReadHeaderTimeout, "read": s.ReadTimeout,
		"write": s.WriteTimeout, "idle": s.IdleTimeout} {
		if limit <= 0 || limit > time.Minute {
			t.Errorf("the %s timeout is %v, want one of at most a minute", name, limit)
		}
	}
	if s.MaxHeaderBytes <= 0 || s.MaxHeaderBytes > 64<<10 {
		t.Errorf("headers may have %d bytes, want at most 64 KiB", s.MaxHeaderBytes)
	}
	for name, begin := range map[string]string{
		"in the headers": "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ",
		"in the body": "POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer " + secret +
			"\r\nContent-Length: 100\r\n\r\n{",
	} {
		t.Run(name, func(t *testing.T) {
			s := server.NewServer(newWorld(t).serves)
			s.ReadHeaderTimeout, s.ReadTimeout = 50*time.Millisecond, 50*time.Millisecond
			c, err := net.Dial("tcp", serve(t, s))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(c, begin)
			if text, err := io.ReadAll(c); err != nil || strings.HasPrefix(string(text), "HTTP/1.1 2") {
				t.Errorf("found %q, %v; want the connection closed", text, err)
			}
		})
	}
}

func TestGiantHeadersAreRefused(t *testing.T) {
	c, err := net.Dial("tcp", serve(t, server.NewServer(newWorld(t).serves)))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	go fmt.Fprintf(c, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Giant: %s\r\n\r\n", strings.Repeat("x", 80<<10))
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("found status %s, want 431", answer.Status)
	}
}

func TestTheTokenIsMadeOnceAndKeptForItsOwnerAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "api-token")
	first, err := server.LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := server.LoadOrCreateToken(path)
	if err != nil || again.Reveal() != first.Reveal() || len(first.Reveal()) != 64 {
		t.Errorf("read %d characters, then again, %v; want the same 64", len(first.Reveal()), err)
	}
	for _, p := range []string{path, filepath.Dir(path)} {
		stat, err := os.Stat(p)
		if err != nil || stat.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v; want it for its owner alone", p, stat.Mode(), err)
		}
	}
	other, err := server.LoadOrCreateToken(filepath.Join(t.TempDir(), "api-token"))
	if err != nil || other.Reveal() == first.Reveal() {
		t.Errorf("two tokens are equal, or %v", err)
	}
}

func TestATokenFileThatCannotBeTrustedIsRefused(t *testing.T) {
	good := strings.Repeat("0f", 32) + "\n"
	tests := []struct {
		name, text string
		mode       os.FileMode
		says       string
	}{
		{"the group may read it", good, 0o640, "chmod 600"},
		{"everybody may read it", good, 0o604, "chmod 600"},
		{"everybody may write it", good, 0o602, "chmod 600"},
		{"it is empty", "", 0o600, "does not hold one; delete it"},
		{"it holds something else", "password\n", 0o600, "does not hold one; delete it"},
		{"it is cut off", good[:40], 0o600, "does not hold one; delete it"},
		{"it is too long", good + good, 0o600, "does not hold one; delete it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "api-token")
			if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, test.mode); err != nil {
				t.Fatal(err)
			}
			token, err := server.LoadOrCreateToken(path)
			if err == nil || !strings.Contains(err.Error(), test.says) || token.Reveal() != "" {
				t.Errorf("found error %v, want one that says %q", err, test.says)
			}
			if err != nil && test.text != "" && strings.Contains(err.Error(), strings.TrimSpace(test.text)) {
				t.Errorf("the error shows what the file holds: %v", err)
			}
		})
	}
	if _, err := server.LoadOrCreateToken(t.TempDir()); err == nil {
		t.Error("a directory was read as a token")
	}
}

func TestATokenDoesNotPrint(t *testing.T) {
	token := server.NewToken(secret)
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("token", "token", token)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("token", "token", token)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		fmt.Fprintf(&log, verb+"\n", token)
		fmt.Fprintf(&log, verb+"\n", server.Options{Token: token})
		fmt.Fprintf(&log, verb+"\n", &token)
	}
	if strings.Contains(log.String(), secret[:16]) || strings.Contains(log.String(), fmt.Sprintf("%x", secret[:16])) {
		t.Errorf("found the token in\n%s", log.String())
	}
}

func TestAMembersTokenIsItsOwn(t *testing.T) {
	token := server.NewToken(secret)
	seen := map[string]bool{secret: true, "": true}
	for _, m := range [][2]string{{"a", "m1"}, {"a", "m2"}, {"b", "m1"}, {"am", "1"}, {"", "am1"}} {
		text := token.Member(m[0], m[1]).Reveal()
		if seen[text] || text != token.Member(m[0], m[1]).Reveal() {
			t.Errorf("the token of %v is another's, or another each time", m)
		}
		seen[text] = true
	}
	for _, fleet := range []string{"a", "b", "report\x00a\x00m1"} {
		text := token.Fleet(fleet).Reveal()
		if seen[text] {
			t.Errorf("the token of the fleet %q is another's", fleet)
		}
		seen[text] = true
	}
	if empty := (server.Token{}).Member("a", "m1").Reveal() + (server.Token{}).Fleet("a").Reveal(); empty != "" {
		t.Error("a token could be made without a secret")
	}
}
