package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// bundle are the built files, or only the file that says what they are.
//
//go:embed all:bundle
var bundle embed.FS

// policy is the content security policy of the page. Scripts may compile WebAssembly, which the simulator in the
// browser needs, and may not evaluate text.
const policy = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action " +
	"'none'; frame-ancestors 'none'"

// missing is the page of a program without the dashboard. It has no script and no style.
const missing = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Muster</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><h1>Muster</h1>
<p>Muster runs, and this program was built without the dashboard. Build it with <code>make ui</code> and
<code>make build</code>, or use a release.</p>
<p>The HTTP API works all the same, and so do <code>muster status</code> and <code>muster top</code>.</p>
</body></html>
`

// hashed matches the names whose content never changes, as in app-3f9a2b1c.js.
var hashed = regexp.MustCompile(`-[0-9A-Za-z]{8,}\.[a-z0-9]+$`)

// types are the kinds of files that are served. They are fixed, because the system's table of types may differ.
var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".png": "image/png", ".ico": "image/x-icon", ".json": "application/json",
	".wasm": "application/wasm", ".map": "application/json", ".webmanifest": "application/manifest+json",
}

// Page is the dashboard. Any goroutine may use it.
type Page struct {
	files map[string]file
	built bool
}

// file is one file. packed is its content in gzip, nil if the folder has none; plain is nil if it has only that.
type file struct {
	kind, etag    string
	plain, packed []byte
	forever       bool
}

// New returns the dashboard that is built into the program.
func New() *Page {
	files, err := fs.Sub(bundle, "bundle")
	if err != nil {
		return &Page{files: map[string]file{"index.html": plain(missing)}} // the folder is always embedded
	}
	return From(files)
}

// From returns the dashboard in a folder.
func From(files fs.FS) *Page {
	p := &Page{files: map[string]file{}}
	fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		served, packed := strings.CutSuffix(name, ".gz")
		kind := types[path.Ext(served)]
		if kind == "" {
			return nil
		}
		content, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		f := p.files[served]
		f.kind, f.forever = kind, hashed.MatchString(served)
		if packed {
			f.packed = content
		} else {
			f.plain = content
		}
		sum := sha256.Sum256(append(f.packed, f.plain...))
		f.etag = `"` + hex.EncodeToString(sum[:12]) + `"`
		p.files[served] = f
		return nil
	}) // an embedded folder can be read
	if _, p.built = p.files["index.html"]; !p.built {
		p.files["index.html"] = plain(missing)
	}
	return p
}

// plain returns a page of its text.
func plain(text string) file {
	sum := sha256.Sum256([]byte(text))
	return file{kind: types[".html"], plain: []byte(text), etag: `"` + hex.EncodeToString(sum[:12]) + `"`}
}

// Built tells whether the program has the dashboard.
func (p *Page) Built() bool { return p.built }

// nameOf returns the file of a request's path. The root is the page itself.
func nameOf(path string) string {
	if path == "/" {
		return "index.html"
	}
	return strings.TrimPrefix(path, "/")
}

// Has tells whether a file is served at a path.
func (p *Page) Has(path string) bool {
	_, ok := p.files[nameOf(path)]
	return ok
}

// ServeHTTP answers a GET or HEAD with a file.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[nameOf(r.URL.Path)]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.forever {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	h.Set("ETag", f.etag)
	if r.Header.Get("If-None-Match") == f.etag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	content := f.plain
	switch {
	case f.packed != nil && accepts(r):
		h.Set("Content-Encoding", "gzip")
		content = f.packed
	case content == nil:
		var err error
		if content, err = unpacked(f.packed); err != nil {
			http.Error(w, "the file is damaged", http.StatusInternalServerError)
			return
		}
	}
	h.Set("Content-Length", strconv.Itoa(len(content)))
	if r.Method != http.MethodHead {
		w.Write(content) // an error means that the client has gone
	}
}

// accepts tells whether the sender of a request reads gzip. A quality of 0 means that it does not.
func accepts(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.EqualFold(name, "gzip") {
			return !strings.HasPrefix(strings.ReplaceAll(quality, " ", ""), "q=0") || strings.Contains(quality, "0.")
		}
	}
	return false
}

// maxUnpacked bounds an unpacked file, in bytes. The files are our own; a damaged one must not fill the memory.
const maxUnpacked = 32 << 20

func unpacked(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxUnpacked))
}
