package worker_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/protocol"

	"github.com/muster-scale/muster/worker/httpreport"
)

func TestHTTPReporterReports(t *testing.T) {
	sent := protocol.Report{Fleet: "f", Member: "m", Worker: "w", Seq: 7, State: protocol.Idle, Token: "t", Slots: 2,
		Finished: 3}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var got protocol.Report
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil || got.Seq != 7 || got.Token != "t" || got.Finished != 3 {
			t.Errorf("received %s, %v", body, err)
		}
		if r.Method != http.MethodPost || r.URL.Path != "/v1/reports" ||
			r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("received %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		_ = json.NewEncoder(w).Encode(protocol.Directive{Ask: protocol.Leave, Token: "t", ReportWithin: time.Second})
	}))
	defer server.Close()
	reporter, err := httpreport.NewReporter(server.URL, "s3cret")
	if err != nil {
		t.Fatal(err)
	}
	got, err := reporter.Report(t.Context(), sent)
	want := protocol.Directive{Ask: protocol.Leave, Token: "t", ReportWithin: time.Second}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestHTTPReporterRefusesWhatIsNoDirective(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		says   string
	}{
		{"a refused token", 401, `{"ask":"work"}`, "refused the token"},
		{"a fault of the controller", 500, "out of\norder", `answered 500 Internal Server Error: "out of\norder"`},
		{"a redirect, which would show the token to somebody else", 307, "", "answered 307"},
		{"no JSON", 200, "<html>", "is no directive"},
		{"an ask that is unknown", 200, `{"ask":"die"}`, `found the ask "die", work, drain or leave is allowed`},
		{"too much", 200, `{"ask":"work","token":"` + strings.Repeat("x", 64<<10) + `"}`, "more than 65536 bytes"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			calls := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls++
				w.Header().Set("Location", "/elsewhere")
				w.WriteHeader(test.status)
				_, _ = fmt.Fprint(w, test.body)
			}))
			defer server.Close()
			reporter, err := httpreport.NewReporter(server.URL, "s3cret")
			if err != nil {
				t.Fatal(err)
			}
			d, err := reporter.Report(t.Context(), protocol.Report{})
			if err == nil || !strings.Contains(err.Error(), test.says) || d != (protocol.Directive{}) || calls != 1 {
				t.Errorf("got %+v, %v after %d calls; want an error that says %q", d, err, calls, test.says)
			}
			if err != nil && strings.Contains(err.Error(), "s3cret") {
				t.Error("the error shows the token")
			}
		})
	}
}

func TestNewReporter(t *testing.T) {
	tests := []struct {
		name, url, token string
		ok               bool
	}{
		{"http to this machine", "http://127.0.0.1:9325", "t", true},
		{"by its name", "http://localhost:9325/", "t", true},
		{"over IPv6", "http://[::1]:9325", "t", true},
		{"https to elsewhere", "https://muster.example.com", "t", true},
		{"http to elsewhere would show the token", "http://muster.example.com", "t", false},
		{"a name that only looks like this machine", "http://localhost.example.com", "t", false},
		{"no address of this machine", "http://169.254.169.254", "t", false},
		{"another scheme", "ftp://127.0.0.1", "t", false},
		{"no host", "http:///v1", "t", false},
		{"a password in the URL", "http://u:p@127.0.0.1", "t", false},
		{"no token", "http://127.0.0.1:9325", "", false},
		{"a token that would break the header", "http://127.0.0.1:9325", "a\r\nHost: b", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := httpreport.NewReporter(test.url, test.token); (err == nil) != test.ok {
				t.Errorf("got %v", err)
			}
		})
	}
}
