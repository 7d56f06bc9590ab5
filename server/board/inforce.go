package board

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxReloads bounds the reloads that are remembered, and maxChanges the changes of one of them.
	maxReloads = 20
	maxChanges = 100
)

// InForce remembers the configuration in force and what its reloads changed. The zero InForce has no values. Any
// goroutine may use it.
type InForce struct {
	mu      sync.Mutex
	file    string
	began   []Value
	now     []Value
	reloads []Reload
}

// Begin sets the values with which Muster starts. An empty file stands for none.
func (c *InForce) Begin(file string, values []Value) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.file, c.began, c.now = file, values, values
}

// Reloaded remembers a reload that set values. said is what it did, in words.
func (c *InForce) Reloaded(at time.Time, values []Value, said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(Reload{At: at.UTC().Round(0), OK: true, Said: said, Changes: changes(c.now, values)})
	c.now = values
}

// Refused remembers a reload that changed nothing. said is why.
func (c *InForce) Refused(at time.Time, said string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remember(Reload{At: at.UTC().Round(0), Said: said, Changes: []Changed{}})
}

// remember puts a reload in front of the others. The lock is held.
func (c *InForce) remember(r Reload) {
	c.reloads = append([]Reload{r}, c.reloads[:min(len(c.reloads), maxReloads-1)]...)
}

// Configuration returns what is in force. fault is why the file is refused now; empty if it is not. atStart are the
// first parts of the keys that take effect only at a start.
func (c *InForce) Configuration(fault string, atStart ...string) Configuration {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := Configuration{File: c.file, Values: append([]Value{}, c.now...), Waiting: []Changed{},
		Reloads: append([]Reload{}, c.reloads...), Faults: []string{}}
	for _, x := range changes(c.began, c.now) {
		if slices.Contains(atStart, x.Path[:len(x.Path)-len(strings.TrimLeft(x.Path, letters))]) {
			now.Waiting = append(now.Waiting, x)
		}
	}
	if len(c.reloads) > 0 {
		now.LastReload = &now.Reloads[0]
	}
	if fault != "" {
		now.Faults = append(now.Faults, fault)
	}
	return now
}

// letters are the characters of one part of a key.
const letters = "abcdefghijklmnopqrstuvwxyz_"

// changes returns the keys whose values differ, in the order of the values after; removed keys come last.
func changes(before, after []Value) []Changed {
	all := []Changed{}
	olds, news := named(before), named(after)
	values := map[string]string{}
	for i, path := range olds {
		values[path] = before[i].Value
	}
	for i, path := range news {
		old, known := values[path]
		delete(values, path)
		if !known || old != after[i].Value {
			all = append(all, Changed{Path: path, Before: old, After: after[i].Value, Line: after[i].Line})
		}
	}
	for i, path := range olds {
		if _, removed := values[path]; removed {
			all = append(all, Changed{Path: path, Before: before[i].Value})
		}
	}
	return all[:min(len(all), maxChanges)]
}

// entry is an entry of a list in a key.
var entry = regexp.MustCompile(`^([a-z_]+)\[\d+\]`)

// named returns the keys of values, in which the entries of a list have their names in place of their numbers: an entry
// that is inserted then does not change all that follow it.
func named(values []Value) []string {
	names := map[string]string{}
	for _, v := range values {
		if at := entry.FindString(v.Path); at != "" && v.Path == at+".name" {
			names[at] = entry.FindStringSubmatch(at)[1] + "[" + v.Value + "]"
		}
	}
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.Path
		if at := entry.FindString(v.Path); names[at] != "" {
			all[i] = names[at] + v.Path[len(at):]
		}
	}
	return all
}
