package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/sim"
	"github.com/muster-scale/muster/sim/scoring"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestPictures(t *testing.T) {
	for _, c := range []struct {
		file string
		draw func(w io.Writer) error
	}{
		{"run.svg", func(w io.Writer) error { return SVG(w, burst()) }},
		{"front.svg", func(w io.Writer) error { return Attainment(w, several()[:4]) }},
		{"fronts.svg", func(w io.Writer) error { return Attainment(w, several()) }},
		{"page.txt", func(w io.Writer) error {
			write := func(w io.Writer) error { return HTML(w, "Two traces", several()) }
			page := written(t, write)
			if !bytes.Equal(page, written(t, write)) {
				t.Error("the same runs give another page the second time")
			}
			_, err := io.WriteString(w, outline(string(page)))
			return err
		}},
	} {
		t.Run(c.file, func(t *testing.T) {
			got := written(t, c.draw)
			path := filepath.Join("testdata", c.file)
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("%v; make it with go test ./sim/report -update", err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
				t.Errorf("%s (-want +got); if that is meant, look at it and run go test ./sim/report -update:\n%s",
					path, diff)
			}
			if again := written(t, c.draw); !bytes.Equal(got, again) {
				t.Error("the same runs give other bytes the second time")
			}
		})
	}
}

// outline is what a page says, for a reviewer: each row of a table and each other piece of text on a line of its own.
// Pictures have golden files of their own, and scripts and styles are tested by what they do.
func outline(page string) string {
	for _, element := range []string{"style", "script", "svg"} {
		page = regexp.MustCompile(`(?s)<`+element+`\b.*?</`+element+`>`).ReplaceAllString(page, "")
	}
	page = regexp.MustCompile(`(?s)</(td|th|dt|dd)>`).ReplaceAllString(page, " | ")
	page = regexp.MustCompile(`(?s)<[^>]*>`).ReplaceAllString(page, "")
	return regexp.MustCompile(`\s*\n\s*`).ReplaceAllString(page, "\n")
}

func written(t testing.TB, draw func(w io.Writer) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := draw(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// element is what a browser would find in a page or picture.
type element struct {
	name       string
	attributes map[string]string
}

// parsed reads a page or picture strictly, as XML, which both are but for the text of scripts and styles.
func parsed(t testing.TB, text []byte) (all []element, words string) {
	t.Helper()
	text = regexp.MustCompile(`(?s)(<(?:script|style)[^>]*>).*?(</(?:script|style)>)`).ReplaceAll(text, []byte("$1$2"))
	d := xml.NewDecoder(bytes.NewReader(text))
	var b strings.Builder
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return all, b.String()
		}
		if err != nil {
			t.Fatalf("not well-formed: %v", err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			e := element{x.Name.Local, map[string]string{}}
			for _, a := range x.Attr {
				e.attributes[a.Name.Local] = a.Value
				b.WriteString(a.Value + "\n")
			}
			all = append(all, e)
		case xml.CharData:
			b.Write(x)
		}
	}
}

// kinds are the names of the elements that there are, sorted.
func kinds(all []element) (names []string) {
	for _, e := range all {
		names = append(names, e.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// called returns the sample with every text replaced by name.
func called(name string) []Run {
	runs := several()
	for i := range runs {
		runs[i].Name, runs[i].Result.Trace, runs[i].Result.Method, runs[i].Result.Policy = name, name, name, name
		runs[i].Result.Faults = []string{name}
		for n := range runs[i].Curves.marks {
			runs[i].Curves.marks[n].sentence = name
		}
	}
	return runs
}

// checkHarmless checks that nothing in a name becomes anything but text.
func checkHarmless(t testing.TB, name string) {
	t.Helper()
	draw := func(name string) [][]byte {
		runs := called(name)
		return [][]byte{
			written(t, func(w io.Writer) error { return HTML(w, name, runs) }),
			written(t, func(w io.Writer) error { return SVG(w, runs[0]) }),
			written(t, func(w io.Writer) error { return Attainment(w, runs) }),
		}
	}
	plain, hostile := draw("plain"), draw(name)
	for i := range plain {
		want, _ := parsed(t, plain[i])
		got, words := parsed(t, hostile[i])
		if diff := cmp.Diff(kinds(want), kinds(got)); diff != "" {
			t.Errorf("picture %d has other elements (-plain +named %q):\n%s", i, name, diff)
		}
		for _, script := range []string{"<script", "</script", "<style", "<!--"} {
			if w, g := bytes.Count(bytes.ToLower(plain[i]), []byte(script)), bytes.Count(bytes.ToLower(hostile[i]),
				[]byte(script)); w != g {
				t.Errorf("picture %d named %q has %s %d times, want %d", i, name, script, g, w)
			}
		}
		for _, e := range got {
			for a := range e.attributes {
				if strings.HasPrefix(a, "on") || a == "src" || a == "style" {
					t.Errorf("picture %d named %q has a %s with the attribute %s", i, name, e.name, a)
				}
			}
		}
		if clean := strings.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return -1
			}
			return r
		}, name); clean == name && len(name) < 30 && !strings.Contains(words, name) {
			t.Errorf("picture %d does not say %q", i, name)
		}
	}
}

func TestNamesAreTextWhateverTheyContain(t *testing.T) {
	for _, name := range []string{
		`</script><script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `' onload='alert(1)`, `]]><b>`, `<!-- `,
		`--><i>`,
		`</title></svg><svg onload=x>`, `</style>`, `{{.}}`, "a & b < c", "\x00\x01\ufffe", "\xff\xfe", "line\nline",
		"💥", "", strings.Repeat("W", 500),
	} {
		t.Run(name, func(t *testing.T) { checkHarmless(t, name) })
	}
}

func FuzzNamesAreText(f *testing.F) {
	f.Add(`</script><script>alert(1)</script>`)
	f.Add(`" onload="alert(1)`)
	f.Fuzz(func(t *testing.T, name string) {
		if len(name) < 2000 {
			checkHarmless(t, name)
		}
	})
}

func TestAPageNeedsNothingElse(t *testing.T) {
	text := written(t, func(w io.Writer) error { return HTML(w, "Two traces", several()) })
	all, _ := parsed(t, text)
	ids := map[string]bool{}
	for _, e := range all {
		if id := e.attributes["id"]; id != "" {
			if ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
	}
	for _, e := range all {
		for a, v := range e.attributes {
			switch a {
			case "href":
				if !strings.HasPrefix(v, "#") || !ids[v[1:]] {
					t.Errorf("a %s leads to %s, which is not in the page", e.name, v)
				}
			case "aria-labelledby":
				for _, id := range strings.Fields(v) {
					if !ids[id] {
						t.Errorf("a %s is named by %s, which is not in the page", e.name, id)
					}
				}
			}
		}
		if slices.Contains([]string{"link", "img", "iframe", "object", "embed", "base", "image", "use"}, e.name) {
			t.Errorf("the page has a %s, which may load something", e.name)
		}
	}
	text, err := os.ReadFile("markup.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"http:", "https:", "//cdn", "@import", "innerHTML", "outerHTML", "insertAdjacent",
		"document.write", "eval(", "fetch(", "XMLHttp"} {
		if strings.Contains(pageScript+pageStyle+chartStyle+string(text), word) {
			t.Errorf("a source of the page contains %s", word)
		}
	}
	if n := strings.Count(pageScript, "\n"); n >= 200 {
		t.Errorf("the script has %d lines, under 200 are promised", n)
	}
}

func TestTheBrowserRunsOnlyTheScriptOfThePage(t *testing.T) {
	text := string(written(t, func(w io.Writer) error { return HTML(w, "t", several()) }))
	scripts := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(text, -1)
	if len(scripts) != 1 {
		t.Fatalf("the page has %d scripts, want 1", len(scripts))
	}
	hash := sha256.Sum256([]byte(scripts[0][1]))
	want := "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-" +
		base64.StdEncoding.EncodeToString(hash[:]) + "'"
	all, _ := parsed(t, []byte(text))
	for _, e := range all {
		if e.attributes["http-equiv"] == "Content-Security-Policy" {
			if got := e.attributes["content"]; got != want {
				t.Errorf("the page allows %s, want %s", got, want)
			}
			return
		}
	}
	t.Error("the page does not say what the browser may run")
}

func TestThePageHasEveryFigureOfAResult(t *testing.T) {
	var want, got []string
	for f := range reflect.TypeFor[scoring.Result]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		want = append(want, name)
	}
	for _, f := range fields {
		got = append(got, f.key)
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the figures in the page are others than those of a result (-result +page); add them to fields:\n%s",
			diff)
	}
	if len(heads()) != len(summary) {
		t.Errorf("%d of %d figures in the summary exist", len(heads()), len(summary))
	}
}

func TestTheValuesUnderThePointerAreThoseOfTheCurves(t *testing.T) {
	text := string(written(t, func(w io.Writer) error { return HTML(w, "t", []Run{burst()}) }))
	_, rest, _ := strings.Cut(text, `<script type="application/json" id="run-0-values">`)
	block, _, _ := strings.Cut(rest, "</script>")
	var got values
	if err := json.Unmarshal([]byte(block), &got); err != nil {
		t.Fatalf("%v in %s", err, block)
	}
	byName := map[string]row{}
	for _, r := range got.Rows {
		byName[r.Name] = r
	}
	for _, c := range []struct {
		name string
		at   int
		want any
	}{
		{"backlog", 29, 40.0}, {"backlog", 30, 30.0}, {"oldest age", 70, 70.0}, {"desired", 0, nil},
		{"desired", 50, 10.0}, {"busy", 40, 10.0},
		{"existing", 118, 2.0}, {"arrivals", 0, []any{40.0, 40.0}}, {"arrivals", 1, []any{0.0, 0.0}},
	} {
		if diff := cmp.Diff(c.want, byName[c.name].Values[c.at]); diff != "" {
			t.Errorf("%s at %d (-want +got):\n%s", c.name, c.at, diff)
		}
	}
	if diff := cmp.Diff([]float64{2, 4, 112}, got.When); diff != "" {
		t.Errorf("the times of the decisions (-want +got):\n%s", diff)
	}
}

func TestMergedColumnsShowHowFarTheyRange(t *testing.T) {
	e := only(5).with(only(9)).with(only(7))
	if diff := cmp.Diff([3]float64{7, 5, 9}, e.shown()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPageOfManyRunsStaysSmall(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	for _, v := range watched(1, 4000, time.Second) {
		r.Stepped(v)
	}
	one := r.Run(scoring.Result{Policy: "exact", Trace: "t"})
	size := func(n int) int {
		runs := make([]Run, n)
		for i := range runs {
			runs[i] = one
		}
		return len(written(t, func(w io.Writer) error { return HTML(w, "t", runs) }))
	}
	if few, many := size(10), size(100); many > 4*few {
		t.Errorf("a page of 10 runs has %d bytes, one of 100 runs %d", few, many)
	}
}

func TestWhatCannotBeDrawnIsSaid(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"page without runs", HTML(io.Discard, "t", nil), "found no runs"},
		{"front without runs", Attainment(io.Discard, nil), "found no runs"},
		{"picture without curves", SVG(io.Discard, reached("exact", "t", 1, 1)), `"exact": it has no curves`},
		{"full disk, page", HTML(full{}, "t", several()), "disk full"},
		{"full disk, picture", SVG(full{}, burst()), "disk full"},
		{"full disk, front", Attainment(full{}, several()), "disk full"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, c.err, c.want)
		}
	}
	text := written(t, func(w io.Writer) error { return HTML(w, "t", []Run{reached("exact", "t", 0, 0)}) })
	if !bytes.Contains(text, []byte("was not recorded")) {
		t.Error("the page does not say that a run has no curves")
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestARunOfOneViewIsDrawn(t *testing.T) {
	r := NewRecorder(muster.Objective{})
	r.Stepped(sim.View{Sent: 1, Outcome: decided(0, 1, "so")})
	one := r.Run(scoring.Result{Policy: "p", Trace: "t"})
	for _, text := range [][]byte{
		written(t, func(w io.Writer) error { return SVG(w, one) }),
		written(t, func(w io.Writer) error { return HTML(w, "t", []Run{one}) }),
	} {
		parsed(t, text)
		if bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			t.Error("a number of the picture is none")
		}
	}
}
