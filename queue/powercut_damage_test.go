package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"
)

// TestAPowerCutAndALostFileAreTold takes files away, or shortens them, after power cuts at all moments: then the queue must
// be refused as damaged, or hold all that was acknowledged.
func TestAPowerCutAndALostFileAreTold(t *testing.T) {
	wanted, err := powercut.Cuts(500)
	if err != nil {
		t.Fatal(err)
	}
	base, err := makeDisk(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	told, whole := 0, 0
	for seed := uint64(1); int64(told+whole) < wanted; seed++ {
		cuts, err := history(t.Context(), base, seed, nil)
		if err != nil {
			t.Fatal(err)
		}
		chance := rand.New(rand.NewPCG(seed, 5))
		for i, c := range cuts {
			what, err := lose(c.disk, chance)
			if err != nil {
				t.Fatal(err)
			}
			switch err := c.check(t.Context()); {
			case err == nil:
				whole++
			case errors.Is(err, ErrCorruptFile):
				told++
			default:
				t.Errorf("history %d, cut %d, %s: %v", seed, i, what, err)
			}
		}
	}
	t.Logf("%d losses told of, %d that made no difference", told, whole)
	if told == 0 {
		t.Error("no loss was ever told of")
	}
}

// lose removes a file, or cuts its end off.
func lose(d *powercut.Disk, chance *rand.Rand) (what string, err error) {
	names := []string{queueFile + "-wal", queueFile + "-wal", logName, markName}
	name := names[chance.IntN(len(names))]
	content, err := d.Read(name)
	if err != nil || len(content) == 0 {
		return "nothing is lost", nil
	}
	if err := d.Remove(name); err != nil || chance.IntN(2) == 0 {
		return name + " is lost", err
	}
	length := chance.IntN(len(content))
	return fmt.Sprintf("%s ends after %d bytes", name, length), d.Append(name, content[:length])
}
