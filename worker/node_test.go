package worker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/muster-scale/muster/tree"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/execution"
)

// parent takes the children of a node.
type parent struct {
	mu      sync.Mutex
	named   []string
	flushed int
	refuse  error
}

// of returns the message of a node whose children the parent takes.
func (p *parent) of(body string) worker.Message {
	return worker.Message{ID: "id-" + body, Queue: "jobs", Body: body, Attempt: 3, Node: &worker.Node{
		Root: "t", ID: "node-" + body, Key: "a b/é", Depth: 2, DepthLeft: 7,
		Name: func(_ context.Context, children ...tree.Child) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			for _, c := range children {
				if err := c.Check(); err != nil {
					return err
				}
				p.named = append(p.named, c.Key+"="+c.Body)
			}
			return p.refuse
		},
		Flush: func(context.Context) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.flushed++
			return nil
		},
	}}
}

func (p *parent) children() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.named, " ")
}

// script writes a program and returns its path.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "program")
	write(t, path, text)
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// namer is a program that answers each work line with the lines of its message's body, the delivery in place of D.
const namer = `
echo '{"type":"ready","protocol":1}'
read -r hello
while read -r line; do
  delivery=$(printf '%s' "$line" | sed 's/.*"delivery":"\([0-9]*\)".*/\1/')
  printf '%s\n' "$line" >>"$0.log"
  sed "s/D/$delivery/g" "$0.answer"
done
`

func TestAProgramNamesTheChildrenOfANode(t *testing.T) {
	large := strings.Repeat("x", tree.MaxBody)
	tests := []struct {
		name, answer string
		refuse       error
		children     string
		flushed      int
		says         string // of the error; empty for success
		restarts     bool
	}{
		{"two children", `{"type":"child","delivery":"D","key":"a"}` + "\n" +
			`{"type":"child","delivery":"D","key":"b","body":"c","later":1}` + "\n" +
			`{"type":"done","delivery":"D","ok":true}`, nil, "a= b=c", 1, "", false},
		{"the largest child", `{"type":"child","delivery":"D","key":"a","body":"` + large + `"}` + "\n" +
			`{"type":"done","delivery":"D","ok":true}`, nil, "a=" + large, 1, "", false},
		{"it fails after a child", `{"type":"child","delivery":"D","key":"a"}` + "\n" +
			`{"type":"done","delivery":"D","ok":false,"error":"no disk"}`, nil, "a=", 0, "no disk", false},
		{"children are refused", `{"type":"child","delivery":"D","key":"a"}` + "\n" +
			`{"type":"child","delivery":"D","key":"b"}` + "\n" + `{"type":"done","delivery":"D","ok":true}`,
			tree.ErrDepth, "a=", 0, "limit of depth is reached", false},
		{"a child without a key", `{"type":"child","delivery":"D"}` + "\n" + `{"type":"done","delivery":"D","ok":true}`,
			nil, "", 0, "a key of 0 bytes", false},
		{"a child of an unknown delivery", `{"type":"child","delivery":"99D","key":"a"}`, nil, "", 0,
			"it named a child of a delivery that is unknown", true},
		{"a child after the end", `{"type":"done","delivery":"D","ok":true}` + "\n" +
			`{"type":"child","delivery":"D","key":"a"}`, nil, "", 1, "", true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			program := script(t, namer)
			write(t, program+".answer", test.answer+"\n")
			lines, err := execution.StartLines(t.Context(),
				execution.LinesOptions{Command: execution.Command{Argv: []string{"/bin/sh", program}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(lines.Close)
			p := parent{refuse: test.refuse}
			err = lines.Do(t.Context(), p.of("x"))
			if test.says == "" && err != nil || test.says != "" &&
				(err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("it became %v, want %q", err, test.says)
			}
			if got := p.children(); got != test.children || p.flushed != test.flushed {
				t.Errorf("named %.100q and flushed %d times, want %.100q and %d", got, p.flushed, test.children,
					test.flushed)
			}
			sent := strings.Join(logged(t, program+".log"), "\n")
			for _, want := range []string{`"tree":{"root":"t","node":"node-x","key":"a b/é","depth":2,"depth_left":7}`,
				`"idempotency_key":"node-x"`, `"attempt":3`} {
				if !strings.Contains(sent, want) {
					t.Errorf("it got %s, want %s in it", sent, want)
				}
			}
		})
	}
}

func TestAProgramThatNamesAChildOfAnotherMessageIsEnded(t *testing.T) {
	program := script(t, namer)
	write(t, program+".answer", `{"type":"child","delivery":"D","key":"a"}`+"\n")
	lines, err := execution.StartLines(t.Context(),
		execution.LinesOptions{Command: execution.Command{Argv: []string{"/bin/sh", program}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lines.Close)
	if err := lines.Do(t.Context(), worker.Message{ID: "m", Body: "x"}); err == nil ||
		!strings.Contains(err.Error(), "no node of a tree") {
		t.Errorf("it became %v", err)
	}
}

func TestAnEndpointNamesTheChildrenOfANode(t *testing.T) {
	for _, test := range []struct {
		name, answer, children, says string
		refuse                       error
	}{
		{"none", "", "", "", nil},
		{"two", "{\"key\":\"a\"}\n\n{\"key\":\"b\",\"body\":\"c\"}", "a= b=c", "", nil},
		{"no child", "thank you", "", "line 1 of what it says", nil},
		{"refused", "{\"key\":\"a\"}\n{\"key\":\"b\"}", "a=", "limit of depth is reached", tree.ErrDepth},
	} {
		t.Run(test.name, func(t *testing.T) {
			e := endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
				for name, want := range map[string]string{
					"X-Muster-Tree-Root": "t", "X-Muster-Tree-Node": "node-x", "X-Muster-Tree-Key": "a%20b%2F%C3%A9",
					"X-Muster-Tree-Depth":      "2",
					"X-Muster-Tree-Depth-Left": "7", "X-Muster-Idempotency-Key": "node-x", "X-Muster-Attempt": "3",
				} {
					if got := r.Header.Get(name); got != want {
						t.Errorf("%s is %q, want %q", name, got, want)
					}
				}
				fmt.Fprint(w, test.answer)
			})
			p := parent{refuse: test.refuse}
			err := e.Do(t.Context(), p.of("x"))
			if test.says == "" && err != nil || test.says != "" &&
				(err == nil || !strings.Contains(err.Error(), test.says)) {
				t.Errorf("it became %v, want %q", err, test.says)
			}
			if got := p.children(); got != test.children || (p.flushed == 1) != (test.says == "") {
				t.Errorf("named %q and flushed %d times, want %q", got, p.flushed, test.children)
			}
		})
	}
}

func TestAnEndpointNamesChildrenInABatch(t *testing.T) {
	answer := ""
	e := endpoint(t, execution.EndpointOptions{Batch: 3}, func(w http.ResponseWriter, r *http.Request) {
		var work struct {
			Messages []struct{ Delivery, Body string }
		}
		if err := json.NewDecoder(r.Body).Decode(&work); err != nil {
			t.Error(err)
		}
		text := answer
		for _, m := range work.Messages {
			text = strings.ReplaceAll(text, "<"+m.Body+">", m.Delivery)
		}
		io.WriteString(w, text)
	})
	for _, test := range []struct {
		name, answer, children string
		failed                 []bool
	}{
		{"each its own", `{"children":[{"delivery":"<x>","key":"a"},{"delivery":"<y>","key":"b","body":"c"}]}`,
			"a= b=c", []bool{false, false, false}},
		{"one has failed", `{"failed":[{"delivery":"<x>"}],"children":[{"delivery":"<x>","key":"a"},{"delivery":"<y>","key":"b"}]}`, "b=", []bool{true, false, false}},
		{"one names a child without a key", `{"children":[{"delivery":"<x>"},{"delivery":"<y>","key":"b"}]}`, "b=",
			[]bool{true, false, false}},
		{"one that is no node names a child",
			`{"children":[{"delivery":"<y>","key":"b"},{"delivery":"<z>","key":"a"}]}`, "", []bool{true, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer = test.answer
			p := parent{}
			errs := e.DoBatch(t.Context(), []worker.Message{p.of("x"), p.of("y"), {ID: "z", Body: "z"}})
			var failed []bool
			for _, err := range errs {
				failed = append(failed, err != nil)
			}
			if !slices.Equal(failed, test.failed) || p.children() != test.children {
				t.Errorf("failed %v, named %q; want %v and %q", errs, p.children(), test.failed, test.children)
			}
		})
	}
}

// TestConformanceOfNodes has a command do right and wrong with the children of a node.
func TestConformanceOfNodes(t *testing.T) {
	const right = `test "$MUSTER_TREE_DEPTH_LEFT" = 0 || echo '{"key":"a"}'; `
	for _, test := range []struct{ name, script, broken string }{
		{"right", right, ""},
		{"no child", ``, "children;"},
		{"another child each time", `test "$MUSTER_TREE_DEPTH_LEFT" = 0 || echo "{\"key\":\"$$\"}"`, "children;"},
		{"no JSON", `echo hello`, "children;depth;"},
		{"too deep", `echo '{"key":"a"}'`, "depth;"},
		{"it fails", `test -z "$MUSTER_TREE_NODE"`, "children;depth;"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &execution.Conformance{Samples: []string{"good"}, TimeLimit: 10 * time.Second}
			node := "top"
			c.Node = &node
			c.OfCommand(t.Context(), execution.Command{Argv: []string{"/bin/sh", "-c", test.script}})
			if broken, found := brokenRules(c); broken != test.broken {
				t.Errorf("broken is %q, want %q: %q", broken, test.broken, found)
			}
		})
	}
	c := &execution.Conformance{Samples: []string{"good"}, TimeLimit: 10 * time.Second}
	node := "top"
	c.Node = &node
	c.OfEndpoint(t.Context(), endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // an answer before the body is read may be lost
		if r.Header.Get("X-Muster-Tree-Depth-Left") == "1" {
			io.WriteString(w, `{"key":"a"}`)
		}
	}))
	if broken, found := brokenRules(c); broken != "" {
		t.Errorf("an endpoint that does right broke %q", found)
	}
}
