package page_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/muster-scale/muster/server/page"
)

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, text)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// built is a dashboard of a few files.
func built(t *testing.T) *page.Page {
	return page.From(fstest.MapFS{
		"index.html.gz":      {Data: packed(t, "<p>page</p>")},
		"app-3f9a2b1c.js.gz": {Data: packed(t, "let a")},
		"icon.svg":           {Data: []byte("<svg/>")},
		"README":             {Data: []byte("not for browsers")},
		"secret.txt":         {Data: []byte("not for browsers")},
	})
}

func ask(p http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, r)
	return answer
}

func TestFilesAreServedCompressedWherePossible(t *testing.T) {
	p := built(t)
	for _, test := range []struct {
		path, accepts, encoding, body, kind, cache string
	}{
		{"/", "gzip, br", "gzip", string(packed(t, "<p>page</p>")), "text/html; charset=utf-8", "no-cache"},
		{"/", "", "", "<p>page</p>", "text/html; charset=utf-8", "no-cache"},
		{"/index.html", "gzip;q=0", "", "<p>page</p>", "text/html; charset=utf-8", "no-cache"},
		{"/app-3f9a2b1c.js", "gzip;q=0.5", "gzip", string(packed(t, "let a")), "text/javascript; charset=utf-8",
			"public, max-age=31536000, immutable"},
		{"/icon.svg", "gzip", "", "<svg/>", "image/svg+xml", "no-cache"},
	} {
		a := ask(p, "GET", test.path, "Accept-Encoding", test.accepts)
		h := a.Header()
		if a.Code != http.StatusOK || a.Body.String() != test.body || h.Get("Content-Encoding") != test.encoding ||
			h.Get("Content-Type") != test.kind || h.Get("Cache-Control") != test.cache {
			t.Errorf("%s with %q: found %d, %v, %q", test.path, test.accepts, a.Code, h, a.Body)
		}
		again := ask(p, "GET", test.path, "If-None-Match", h.Get("ETag"))
		if again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again: found %d, %q", test.path, again.Code, again.Body)
		}
		if head := ask(p, "HEAD", test.path); head.Code != http.StatusOK || head.Body.Len() > 0 {
			t.Errorf("HEAD %s: found %d, %q", test.path, head.Code, head.Body)
		}
	}
}

func TestOnlyFilesOfThePageAreServed(t *testing.T) {
	p := built(t)
	for _, path := range []string{"/README", "/secret.txt", "/index.html.gz", "/../page.go", "/bundle/index.html",
		"//index.html", "/v1/status"} {
		if p.Has(path) || ask(p, "GET", "http://host"+path).Code != http.StatusNotFound {
			t.Errorf("%s is served", path)
		}
	}
}

func TestAProgramWithoutTheDashboardSaysSo(t *testing.T) {
	p := page.From(fstest.MapFS{"README": {Data: []byte("x")}})
	a := ask(p, "GET", "/")
	if p.Built() || a.Code != http.StatusOK || !strings.Contains(a.Body.String(), "make ui") {
		t.Errorf("found %t, %d: %s", p.Built(), a.Code, a.Body)
	}
	if !built(t).Built() {
		t.Error("a dashboard counts as missing")
	}
	if !page.New().Has("/") {
		t.Error("the program has no page")
	}
}

// TestThePageAllowsNothingInlineAndNoFrame holds the policy against injected scripts and clickjacking.
func TestThePageAllowsNothingInlineAndNoFrame(t *testing.T) {
	h := ask(built(t), "GET", "/").Header()
	policy := h.Get("Content-Security-Policy")
	for _, needs := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
		"base-uri 'none'", "form-action 'none'", "connect-src 'self'"} {
		if !strings.Contains(policy, needs) {
			t.Errorf("the policy lacks %s: %s", needs, policy)
		}
	}
	for _, not := range []string{"unsafe-inline", "'unsafe-eval'", "*", "http:", "https:"} {
		if strings.Contains(policy, not) {
			t.Errorf("the policy has %s: %s", not, policy)
		}
	}
	for name, value := range map[string]string{"X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"X-Content-Type-Options": "nosniff"} {
		if h.Get(name) != value {
			t.Errorf("%s is %q", name, h.Get(name))
		}
	}
}
