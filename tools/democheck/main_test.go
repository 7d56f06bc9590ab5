package main

import (
	"fmt"
	"strings"
	"testing"
)

func runs(change func(i int, fields []string) []string) string {
	var all []string
	for i, name := range []string{"test-1 exact", "test-1 deadline", "test-1 dynamic-backlog", "test-2 exact",
		"test-2 deadline", "test-2 dynamic-backlog"} {
		test, policy, _ := strings.Cut(name, " ")
		fields := []string{fmt.Sprintf(`"name":%q`, test), fmt.Sprintf(`"policy":%q`, policy), `"messages":50`,
			`"processed":50`, `"in_time":50`,
			`"in_time_ratio":1`, `"processed_twice":0`, `"seconds":9.5`, `"peak_workers":25`, `"worker_seconds":190`,
			`"decisions":1`}
		all = append(all, "{"+strings.Join(change(i, fields), ",")+"}")
	}
	return `{"tests":[` + strings.Join(all, ",") + `]}`
}

func TestOnlyADemoThatKeptItsPromisesPasses(t *testing.T) {
	set := func(run int, field, value string) string {
		return runs(func(i int, fields []string) []string {
			for j := range fields {
				if i == run && strings.HasPrefix(fields[j], `"`+field+`":`) {
					fields[j] = fmt.Sprintf("%q:%s", field, value)
				}
			}
			return fields
		})
	}
	good := set(-1, "", "")
	for name, row := range map[string]struct {
		text string
		ok   bool
	}{
		"all promises kept":                      {good, true},
		"dynamic-backlog may miss the objective": {set(2, "in_time", "3"), true},
		"exact may not":                          {set(0, "in_time", "49"), false},
		"deadline may not":                       {set(4, "in_time", "49"), false},
		"a message lost":                         {set(3, "processed", "49"), false},
		"a message processed twice":              {set(2, "processed_twice", "1"), false},
		"no workers at all":                      {set(2, "peak_workers", "0"), false},
		"a field missing": {runs(func(_ int, f []string) []string { return f[:10] }),
			false},
		"something else on standard output before":     {"hello\n" + good, false},
		"something else on standard output afterwards": {good + "{}", false},
		"a run missing":                {`{"tests":[]}`, false},
		"the runs of deadline missing": {strings.ReplaceAll(good, `"deadline"`, `"exact"`), false},
	} {
		if err := check(strings.NewReader(row.text), new(strings.Builder)); (err == nil) != row.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
