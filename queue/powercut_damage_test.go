package queue

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/storage"
	"github.com/muster-scale/muster/queue/internal/storage/oplog"
)

// TestAPowerCutAndALostFileAreTold takes files away, shortens or spoils them after power cuts at all moments, in the
// middle of writing the write-ahead log back among them: then the queue must be refused as damaged, or hold all that
// was acknowledged.
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
			case errors.Is(err, ErrCorruptFile) || errors.Is(err, machine.ErrDamagedContent) ||
				storage.PrimaryCode(err) == sqlitefile.CodeCorrupt:
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

// lose removes a file, cuts its end off, flips a bit or zeroes a sector.
func lose(d *powercut.Disk, chance *rand.Rand) (what string, err error) {
	names := []string{queueFile + "-wal", queueFile + "-wal", queueFile, logName, markName}
	name := names[chance.IntN(len(names))]
	content, err := d.Read(name)
	if err != nil || len(content) == 0 {
		return "nothing is lost", nil
	}
	at := chance.IntN(len(content))
	kinds := 4
	if name == logName {
		// The last frame may be one that the power cut kept from being written whole: a damaged one looks the same.
		kinds = 2
	}
	switch kind := chance.IntN(kinds); {
	case kind == 0 && name != queueFile: // without its file a directory is a new one, see missing
		return name + " is lost", d.Remove(name)
	case kind == 1:
		what, content = fmt.Sprintf("%s ends after %d bytes", name, at), content[:at]
	case kind == 2:
		what = fmt.Sprintf("a bit of byte %d of %s is flipped", at, name)
		content[at] ^= 1 << chance.IntN(8)
	default:
		from := at / oplog.SectorBytes * oplog.SectorBytes
		what = fmt.Sprintf("the sector at byte %d of %s is zeroed", from, name)
		clear(content[from:min(from+oplog.SectorBytes, len(content))])
	}
	return what, errors.Join(d.Remove(name), d.Append(name, content))
}
