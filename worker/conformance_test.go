package worker_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/muster-scale/muster/worker/execution"
)

// playRules is a program that keeps to all rules of the protocol but the one it is told to break.
func playRules(broken string) int {
	if broken == "start" {
		fmt.Println("hello, too")
	}
	if broken == "stop" {
		signal.Ignore(syscall.SIGTERM)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 16<<20)
	seen := map[string]bool{}
	for lines.Scan() {
		var r struct {
			Type     string
			Messages []struct {
				Delivery, ID, Body string
				Later              []any `json:"of a later version"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return 1
		}
		switch {
		case r.Type == "hello":
			fmt.Println(`{"type":"ready","protocol":1}`)
		case r.Type != "work" && broken == "later types":
			return 1
		}
		for i, m := range r.Messages {
			ok := m.Body != "bad" || broken == "failure"
			switch {
			case broken == "success", broken == "again" && seen[m.ID]:
				ok = false
			case broken == "any body" && strings.ContainsRune(m.Body, 0), broken == "later fields" && m.Later != nil:
				return 1
			case broken == "batch" && i > 0:
				continue
			}
			seen[m.ID] = true
			answer := fmt.Sprintf(`{"type":"done","delivery":%q,"ok":%v}`, m.Delivery, ok)
			fmt.Println(answer)
			if broken == "once" && !strings.HasSuffix(m.ID, "-1") {
				fmt.Println(answer)
			}
		}
	}
	switch broken {
	case "end":
		return 1
	case "stop":
		select {}
	}
	return 0
}

// brokenRules returns the rules found broken, each once, and what was found.
func brokenRules(c *execution.Conformance) (rules string, found []string) {
	for _, f := range c.Findings() {
		if f.Err != nil {
			found = append(found, f.Rule+": "+f.Err.Error())
			if !strings.Contains(rules, f.Rule) {
				rules += f.Rule + ";"
			}
		}
	}
	return rules, found
}

func conformance(samples ...string) *execution.Conformance {
	bad := "bad"
	return &execution.Conformance{Samples: samples, Bad: &bad, TimeLimit: 2 * time.Second}
}

// TestConformanceFindsTheBrokenRule has a program break each rule. A rule that comes after the broken one may be broken
// by it, too; one that comes before it may not.
func TestConformanceFindsTheBrokenRule(t *testing.T) {
	rules := []string{"", "start", "success", "again", "failure", "any body", "batch", "once", "later fields",
		"later types", "end", "stop"}
	for _, rule := range rules {
		t.Run("broken "+rule, func(t *testing.T) {
			t.Parallel()
			c := conformance("good")
			c.OfLines(t.Context(), execution.LinesOptions{Command: plays("play-rules", rule), Batch: 2,
				StartLimit: 20 * time.Second})
			broken, found := brokenRules(c)
			switch {
			case c.Passed() != (rule == ""):
				t.Errorf("passed: %v; found %q", c.Passed(), found)
			case rule == "once" && strings.Contains(broken, "once"), rule == "stop" && strings.Contains(broken, "stop"):
			case rule != "" && !strings.HasPrefix(broken, rule+";"):
				t.Errorf("found %q", found)
			}
			if rule != "start" && len(c.Findings()) != 11 {
				t.Errorf("%d rules were looked at, want all 11: %+v", len(c.Findings()), c.Findings())
			}
		})
	}
}

func TestConformanceOfACommand(t *testing.T) {
	c := conformance("good")
	c.OfCommand(t.Context(),
		execution.Command{Argv: []string{"/bin/sh", "-c", `case $(tr -d '\0') in bad) exit 3;; esac`}})
	if rules, found := brokenRules(c); rules != "" {
		t.Errorf("found %q", found)
	}
	c = conformance("good")
	c.OfCommand(t.Context(), execution.Command{Argv: []string{"/bin/sh", "-c", `kill -9 $$`}})
	if rules, _ := brokenRules(c); rules != "success;failure;any body;" {
		t.Errorf("found %q broken for a command that kills itself", rules)
	}
}

func TestConformanceOfAnEndpoint(t *testing.T) {
	good := endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "bad" {
			w.WriteHeader(http.StatusUnprocessableEntity)
		}
	})
	c := conformance("good")
	c.OfEndpoint(t.Context(), good)
	if rules, found := brokenRules(c); rules != "" {
		t.Errorf("found %q", found)
	}
	forgetful := endpoint(t, execution.EndpointOptions{Batch: 2}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.Header.Get("X-Muster-Batch") == "2" {
			fmt.Fprint(w, `{"failed":[{"delivery":"nonesuch"}]}`)
		}
	})
	c = conformance("good")
	c.OfEndpoint(t.Context(), forgetful)
	if rules, found := brokenRules(c); rules != "failure;batch;" {
		t.Errorf("found %q", found)
	}
}

// TestConformanceTakesAResetForTheRefusalOfALargeBody has endpoints end the connection of a large body without an
// answer. That is a refusal only when the body was not read and the endpoint still answers.
func TestConformanceTakesAResetForTheRefusalOfALargeBody(t *testing.T) {
	const large = 64 << 10
	for _, test := range []struct {
		name, broken string
		// reads tells whether the large body is read first, dies whether nothing is answered afterwards.
		reads, dies bool
	}{
		{"a refusal before the body is read", "", false, false},
		{"no answer after the body was read", "any body;", true, false},
		{"no answer to what follows", "any body;", false, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			var dead atomic.Bool
			e := endpoint(t, execution.EndpointOptions{}, func(w http.ResponseWriter, r *http.Request) {
				if dead.Load() {
					panic(http.ErrAbortHandler)
				}
				if r.ContentLength > large && !test.reads {
					dead.Store(test.dies)
					reset(t, w)
					return
				}
				body, _ := io.ReadAll(r.Body)
				if len(body) > large {
					panic(http.ErrAbortHandler)
				}
				if string(body) == "bad" {
					w.WriteHeader(http.StatusUnprocessableEntity)
				}
			})
			c := conformance("good")
			c.OfEndpoint(t.Context(), e)
			if rules, found := brokenRules(c); rules != test.broken {
				t.Errorf("broken is %q, want %q: %q", rules, test.broken, found)
			}
		})
	}
}

// reset ends the connection of a request as a system does when data arrives after the close.
func reset(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	if err := connection.(*net.TCPConn).SetLinger(0); err != nil {
		t.Error(err)
	}
	if err := connection.Close(); err != nil {
		t.Error(err)
	}
}
