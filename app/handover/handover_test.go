package handover_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/muster-scale/muster/app/handover"
)

func TestWhatIsUnknownOrFailedIsSaidOfItsFleet(t *testing.T) {
	backlog := 48.0
	all := []handover.Fleet{
		{Name: "web", Backlog: &backlog, Target: 12, InService: 2, Slots: 4},
		{Name: "jobs", Unknown: "nobody tells", Failure: "no region"},
	}
	var out bytes.Buffer
	for _, f := range all {
		f.Print(&out)
	}
	want := "web: backlog 48, 2 in service with 4 slots, target 12\n" +
		"jobs: unknown backlog, 0 in service with 0 slots\n  unknown: nobody tells\n  failed: no region\n"
	if out.String() != want {
		t.Errorf("printed\n%s\nwant\n%s", &out, want)
	}
	if err := handover.Failed(all); err == nil || !strings.Contains(err.Error(), "1 fleet of 2 failed") {
		t.Errorf("found %v, want that one of two failed", err)
	}
	if err := handover.Failed(all[:1]); err != nil {
		t.Errorf("found %v where nothing failed", err)
	}
}
