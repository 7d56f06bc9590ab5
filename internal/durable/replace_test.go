package durable_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/muster-scale/muster/internal/durable"
)

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.html")
	broken := errors.New("broken")
	for _, row := range []struct {
		text string
		err  error
		want string
	}{{"first", nil, "first"}, {"sec", broken, "first"}, {"second", nil, "second"}} {
		err := durable.Replace(path, func(w io.Writer) error {
			io.WriteString(w, row.text)
			return row.err
		})
		if !errors.Is(err, row.err) {
			t.Errorf("%q: found %v, want %v", row.text, err, row.err)
		}
		if got, err := os.ReadFile(path); string(got) != row.want || err != nil {
			t.Errorf("the file holds %q, %v; want %q", got, err, row.want)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(path)); len(left) != 1 || err != nil {
		t.Errorf("the directory holds %v, %v", left, err)
	}
	if err := durable.Replace("", nil); err != nil {
		t.Errorf("no file gives the error %v", err)
	}
}
