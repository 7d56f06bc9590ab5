package history_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/history"
	"github.com/muster-scale/muster/internal/damage"
	"github.com/muster-scale/muster/internal/powercut"
)

// TestADamagedHistoryGoesOnAndSaysSo damages the files of a history at random places, as a crash leaves them and as
// closing does. Whatever is lost by that must be told, and the history must take records again.
func TestADamagedHistoryGoesOnAndSaysSo(t *testing.T) {
	wanted, err := powercut.Count("MUSTER_DAMAGES", 30)
	if err != nil {
		t.Fatal(err)
	}
	dir, crashed := t.TempDir(), t.TempDir()
	h := openFile(t, filepath.Join(dir, "history.db"), history.Options{})
	for n := range 60 {
		fill(t, h, "a", record(noon.Add(time.Duration(n)*time.Second), muster.Changed,
			fmt.Sprintf(`"%d%s"`, n, strings.Repeat("x", n*100))))
	}
	want := records(t, h)
	if err := damage.Copy(dir, crashed); err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	chance := rand.New(rand.NewPCG(7, 1))
	for name, from := range map[string]string{"as a crash leaves it": crashed, "as closing leaves it": dir} {
		told := 0
		for range (wanted + 1) / 2 {
			spoilt := t.TempDir()
			if err := damage.Copy(from, spoilt); err != nil {
				t.Fatal(err)
			}
			d, err := damage.Draw(chance, spoilt)
			if err == nil {
				err = d.Apply(spoilt)
			}
			if err != nil {
				t.Fatal(err)
			}
			h, found, err := history.OpenRecovered(filepath.Join(spoilt, "history.db"), history.Options{}, noon)
			if err != nil {
				t.Errorf("%s, %v: %v", name, d, err)
				continue
			}
			if found != nil {
				told++
				if !strings.Contains(found.Error(), spoilt) {
					t.Errorf("%s, %v: it does not say where: %v", name, d, found)
				}
			} else if diff := cmp.Diff(want, records(t, h)); diff != "" {
				t.Errorf("%s, %v: nothing was told: %s", name, d, diff)
			}
			fill(t, h, "b", record(noon, muster.Changed, `"goes on"`))
			if err := h.Close(); err != nil {
				t.Error(err)
			}
		}
		t.Logf("%s: %d of %d damages told", name, told, (wanted+1)/2)
	}
}

// TestADamagedHistoryIsKept holds that nothing of it is removed, and that a file which may be another program's stays
// where it is.
func TestADamagedHistoryIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history.db")
	content := strings.Repeat("notes\n", 1000)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	h, found, err := history.OpenRecovered(path, history.Options{}, noon)
	if b, _ := os.ReadFile(path); err == nil || string(b) != content {
		t.Fatalf("without a mark: %v, %v; %d bytes are there", found, err, len(b))
	}
	if err := os.WriteFile(path+"-mark", make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	h, found, err = history.OpenRecovered(path, history.Options{}, noon)
	if err != nil || found == nil {
		t.Fatalf("%v, %v", found, err)
	}
	defer h.Close()
	kept, err := filepath.Glob(path + "-damaged-*/history.db")
	if err != nil || len(kept) != 1 {
		t.Fatalf("%v, %v", kept, err)
	}
	if b, err := os.ReadFile(kept[0]); err != nil || string(b) != content {
		t.Errorf("%d bytes were kept, %v", len(b), err)
	}
}

func records(t *testing.T, h *history.History) (all []muster.Record) {
	t.Helper()
	err := h.Read(t.Context(), "a", time.Time{}, func(r muster.Record) bool {
		all = append(all, r)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return all
}
