package built_test

import (
	"runtime/debug"
	"strings"
	"testing"

	"github.com/muster-scale/muster/internal/built"
)

func TestAProgramSaysWhatItWasBuiltFrom(t *testing.T) {
	changed := &debug.BuildInfo{Main: debug.Module{Path: "m", Version: "(devel)"}, Settings: []debug.BuildSetting{
		{Key: "vcs.revision", Value: "abc"}, {Key: "vcs.modified", Value: "true"},
	}}
	module := &debug.BuildInfo{Main: debug.Module{Path: "m", Version: "v0.0.0-20260301120000-0123456789ab"}}
	for _, row := range []struct {
		release string
		from    *debug.BuildInfo
		want    string
	}{
		{"", nil, "muster development (go"},
		{"v1.2.0", changed, "muster v1.2.0 (commit abc with changes, go"},
		{"", changed, "muster development (commit abc with changes, go"},
		{"", module, "muster v0.0.0-20260301120000-0123456789ab (commit 0123456789ab, go"},
	} {
		if got := built.From(row.release, row.from).String(); !strings.HasPrefix(got, row.want) {
			t.Errorf("found %q, want it to begin with %q", got, row.want)
		}
	}
}
