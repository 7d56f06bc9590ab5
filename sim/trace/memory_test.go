package trace_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/muster-scale/muster/sim/trace"
)

// Content in memory is read as a file of the same name: the same messages, and the same words about its faults.
func TestContentInMemoryIsReadAsAFile(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	w.Write([]byte("service_s,arrival_s\n5,1\n2,9\n"))
	w.Close()
	for name, content := range map[string]string{
		"plain.csv": "arrival_s,service_s\n1,5\n2,0.5\n", "packed.csv": packed.String(), "cut.gz": packed.String()[:20],
		"order.csv": "arrival_s,service_s\n5,1\n4,1\n", "empty.csv": "", "jobs.swf": "; a job log\n",
		"counts.csv": "start_s,count\n0,1\n",
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		all := func(one trace.Trace, err error) (found []trace.Message, fault string) {
			if err == nil {
				err = one.Each(func(m trace.Message) bool { found = append(found, m); return true })
			}
			if err != nil {
				fault = err.Error()
			}
			return found, fault
		}
		want, wantFault := all(trace.Open(path, trace.Options{}))
		found, fault := all(trace.Read(path, []byte(content), trace.Options{}))
		if !reflect.DeepEqual(found, want) || fault != wantFault {
			t.Errorf("%s: found %v and %q, want %v and %q", name, found, fault, want, wantFault)
		}
	}
}
