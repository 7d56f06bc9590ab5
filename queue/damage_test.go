package queue

import (
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/muster-scale/muster/internal/damage"
	"github.com/muster-scale/muster/internal/powercut"
	"github.com/muster-scale/muster/internal/sqlitefile"
	"github.com/muster-scale/muster/queue/check"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/storage"
)

// acknowledged is what a data directory holds according to the answers of its queues.
type acknowledged struct {
	messages map[string]Peeked // by id
	seqs     map[string]uint64 // their sequences
	deleted  map[string]bool
	queues   map[string]map[string]string // attributes by name
}

// usedDirs returns a data directory as a crash leaves it and one that was closed in order, with what was acknowledged:
// 1,300 messages in many transactions and several generations of the log.
func usedDirs(t *testing.T) (dirs map[string]string, a acknowledged) {
	t.Helper()
	a = acknowledged{map[string]Peeked{}, map[string]uint64{}, map[string]bool{}, map[string]map[string]string{}}
	dir, crashed := t.TempDir(), t.TempDir()
	s := open(t, Options{Dir: dir, MemoryBytes: 1}) // nothing is cached
	for name, attributes := range map[string]map[string]string{
		"dead": {"MessageRetentionPeriod": "1209600"}, "later": {"DelaySeconds": "900"},
		"ordered.fifo": {"FifoQueue": "true", "ContentBasedDeduplication": "true"}, "empty": nil,
	} {
		mustCreate(t, s, name, attributes)
	}
	mustCreate(t, s, "q", map[string]string{"RedrivePolicy": `{"deadLetterTargetArn":"arn:aws:sqs:local:000000000000:dead","maxReceiveCount":2}`})
	chance := rand.New(rand.NewPCG(1, 2))
	for n := range 130 {
		name := []string{"q", "q", "q", "later", "ordered.fifo"}[n%5]
		a.send(t, s, name, n, chance)
		switch {
		case name == "q" && n%3 == 0:
			a.settle(t, s, n)
		case n == 40 || n == 90: // a change of a queue begins another generation of the log
			if err := s.SetAttributes(t.Context(), "empty",
				map[string]string{"VisibilityTimeout": fmt.Sprint(n)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range s.Queues() {
		attributes, err := s.Attributes(name)
		if err != nil {
			t.Fatal(err)
		}
		a.queues[name] = stated(attributes)
		err = s.PeekEach(t.Context(), name, AnyState, func(p Peeked) bool {
			a.messages[p.ID] = p
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mustSend(t, s, "empty", "the last one") // so that first receives are written
	for _, p := range must(s.Peek(t.Context(), "empty", 1, AnyState))(t) {
		a.messages[p.ID] = p
	}
	for _, q := range state(s).Names {
		for e := range q.All {
			a.seqs[rules.FormatUUID(must(s.contents.Record(e.Seq))(t).ID)] = e.Seq
		}
	}
	// A large reserve takes long to copy, and nobody reads it.
	if err := errors.Join(damage.Copy(dir, crashed),
		os.Truncate(filepath.Join(crashed, "reserve"), 2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Close(), os.Truncate(filepath.Join(dir, "reserve"), 2<<20)); err != nil {
		t.Fatal(err)
	}
	return map[string]string{"as a crash leaves them": crashed, "as closing leaves them": dir}, a
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// stated leaves out the attributes that count.
func stated(attributes map[string]string) map[string]string {
	maps.DeleteFunc(attributes, func(name, _ string) bool { return strings.HasPrefix(name, "Approximate") })
	return attributes
}

// send sends ten messages, a long one now and then.
func (a acknowledged) send(t *testing.T, s *Service, name string, n int, chance *rand.Rand) {
	t.Helper()
	var out []Outgoing
	for i := range MaxBatch {
		size := chance.IntN(1500)
		if chance.IntN(40) == 0 {
			size = 3000 + chance.IntN(20_000)
		}
		o := Outgoing{Body: fmt.Sprint(n, "|", i, "|", strings.Repeat("x", size)), Attributes: attributesOf(n + i)}
		if strings.HasSuffix(name, ".fifo") {
			o.GroupID = fmt.Sprint(i % 3)
		}
		out = append(out, o)
	}
	for _, sent := range must(s.Send(t.Context(), name, out))(t) {
		if sent.Err != nil {
			t.Fatal(sent.Err)
		}
	}
}

// settle receives some messages and deletes some of these; some go to the dead-letter queue, others stay in flight.
func (a acknowledged) settle(t *testing.T, s *Service, n int) {
	t.Helper()
	lease := MaxVisibility
	got := must(s.Receive(t.Context(), "q", ReceiveOptions{Max: 6, Visibility: &lease}))(t)
	for i, m := range got {
		switch {
		case i < 3:
			mustDelete(t, s, "q", m.Receipt)
			a.deleted[m.ID] = true
		case i == 3 || n%2 == 0:
			if err := change(t, s, "q", m.Receipt, 0); err != nil {
				t.Fatal(err)
			}
		default:
			if err := change(t, s, "q", m.Receipt, 11*time.Hour); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// check opens the directory, as damaged as it is, and returns what differs from what was acknowledged without a word of
// it.
func (a acknowledged) check(t *testing.T, dir string) (told error, silent []string) {
	t.Helper()
	s, err := Open(Options{Dir: dir, MemoryBytes: 1})
	if err != nil {
		for _, known := range []error{ErrCorruptFile, ErrForeignFile, ErrNewerFile} {
			if errors.Is(err, known) && strings.Contains(err.Error(), dir) {
				return err, nil
			}
		}
		return err, []string{fmt.Sprintf("the error does not say that, and where, there is damage: %v", err)}
	}
	defer s.Close()
	present := map[string]Peeked{}
	for _, name := range s.Queues() {
		if diff := gocmp.Diff(a.queues[name], stated(must(s.Attributes(name))(t))); diff != "" {
			silent = append(silent, fmt.Sprintf("attributes of queue %s: %s", name, diff))
		}
		err := s.PeekEach(t.Context(), name, AnyState, func(p Peeked) bool {
			if p.Damaged != nil {
				told = errors.Join(told, p.Damaged)
				return true
			}
			present[p.ID] = p
			return true
		})
		told = errors.Join(told, err)
	}
	if missing := len(a.queues) - len(s.Queues()); missing != 0 {
		silent = append(silent, fmt.Sprintf("%d queues are missing", missing))
	}
	return told, append(silent, a.compare(present, told)...)
}

func (a acknowledged) compare(present map[string]Peeked, told error) (silent []string) {
	for id, want := range a.messages {
		got, ok := present[id]
		switch {
		case ok && a.same(got, want):
		case told != nil && strings.Contains(told.Error(), fmt.Sprintf("message %d of queue", a.seqs[id])):
		case !ok:
			silent = append(silent, fmt.Sprintf("message %s is lost", id))
		default:
			silent = append(silent, fmt.Sprintf("message %s is another one: %s", id, gocmp.Diff(want, got)))
		}
	}
	for id := range present {
		if _, sent := a.messages[id]; !sent {
			silent = append(silent, fmt.Sprintf("message %s is there; deleted: %t", id, a.deleted[id]))
		}
	}
	return silent
}

func (a acknowledged) same(got, want Peeked) bool {
	got.Digest, want.Digest = [16]byte{}, [16]byte{}
	got.State = want.State // it changes with the time alone
	return gocmp.Equal(got, want)
}

// repair repairs a directory and returns what differs from what was acknowledged and is not told of, and how many
// messages are lost.
func (a acknowledged) repair(t *testing.T, dir string) (silent []string, lost int) {
	t.Helper()
	found, err := check.Files(t.Context(), dir, check.Options{Repair: true, At: time.Now()})
	if err != nil {
		return []string{err.Error()}, 0
	}
	if report, err := os.ReadFile(filepath.Join(found.Kept, "report.json")); err != nil ||
		!strings.Contains(string(report), found.Findings[0].File) {
		silent = append(silent, fmt.Sprintf("the report is %s (%v)", report, err))
	}
	again, err := check.Files(t.Context(), dir, check.Options{At: time.Now()})
	if err != nil || !again.Whole() || again.Messages != found.Messages {
		silent = append(silent, fmt.Sprintf("a second check finds %+v, %v", again, err))
	}
	s, err := Open(Options{Dir: dir, MemoryBytes: 1})
	if err != nil {
		return append(silent, err.Error()), 0
	}
	defer s.Close()
	present := map[string]Peeked{}
	for _, name := range s.Queues() {
		err := s.PeekEach(t.Context(), name, AnyState, func(p Peeked) bool {
			present[p.ID] = p
			return true
		})
		if err != nil {
			silent = append(silent, err.Error())
		}
	}
	if len(present) != found.Messages {
		silent = append(silent, fmt.Sprintf("%d messages are there, %d were said to be whole", len(present),
			found.Messages))
	}
	for id := range a.messages {
		_, ok := present[id]
		if !ok {
			lost++
		}
		if !ok && !tells(found, a.seqs[id]) {
			silent = append(silent, fmt.Sprintf("message %d is missing", a.seqs[id]))
		}
	}
	for id, got := range present {
		want, sent := a.messages[id]
		switch {
		case !sent && !a.deleted[id]:
			silent = append(silent, fmt.Sprintf("message %s was never sent", id))
		case sent && (got.Body != want.Body || !gocmp.Equal(got.Attributes, want.Attributes) ||
			got.GroupID != want.GroupID):
			silent = append(silent, fmt.Sprintf("message %d is another one", a.seqs[id]))
		}
	}
	return silent, lost
}

// tells says whether a checkup tells of the message with a sequence.
func tells(c *check.Result, seq uint64) bool {
	return slices.ContainsFunc(c.Damaged, func(m check.Message) bool { return m.Sequence == seq }) ||
		slices.ContainsFunc(c.Missing, func(g check.Gap) bool { return g.Holds(seq) })
}

// TestDamageIsTold damages the files of a data directory at random places. Whatever is lost by that must be told.
func TestDamageIsTold(t *testing.T) {
	wanted := must(powercut.Count("MUSTER_DAMAGES", 60))(t)
	dirs, a := usedDirs(t)
	scratch := memoryDir(t)
	for _, name := range slices.Sorted(maps.Keys(dirs)) {
		t.Run("files "+name, func(t *testing.T) {
			if told, silent := a.check(t, copyOf(t, dirs[name], scratch)); told != nil || len(silent) > 0 {
				t.Fatalf("undamaged: %v\n%s", told, strings.Join(silent, "\n"))
			}
			chance := rand.New(rand.NewPCG(3, uint64(len(name))))
			counts, most := map[string]int{}, map[string]int{}
			for range int(wanted+1) / 2 {
				dir := copyOf(t, dirs[name], scratch)
				d := must(damage.Draw(chance, dir))(t)
				if err := d.Apply(dir); err != nil {
					t.Fatal(err)
				}
				found, err := check.Files(t.Context(), dir, check.Options{At: time.Now()})
				if err != nil {
					t.Errorf("%v: check: %v", d, err)
					continue
				}
				before := contentsOf(t, dir)
				told, silent := a.check(t, dir)
				if errors.Is(told, ErrCorruptFile) {
					if diff := gocmp.Diff(before, contentsOf(t, dir)); diff != "" {
						t.Errorf("%v: it was refused, and the files were changed (%v): %s", d, told, diff)
					}
				}
				if told == nil && len(silent) == 0 && !found.Whole() {
					t.Errorf("%v: nothing was told, and the check finds %+v", d, found.Findings)
				}
				if told != nil && found.Whole() {
					t.Errorf("%v: told was %v, and the check finds nothing", d, told)
				}
				if told != nil {
					silent, lost := a.repair(t, dir)
					for _, text := range silent {
						t.Errorf("%v: after the repair: %s\n%+v", d, text, found)
					}
					if lost > 30 && d.Kind != damage.Cut && d.Kind != damage.Miss {
						t.Errorf("%v: %d messages are lost after a repair, and none of them was there: %+v", d, lost,
							found)
					}
					most[d.Kind.String()+" in "+d.File] = max(most[d.Kind.String()+" in "+d.File], lost)
				}
				switch {
				case len(silent) > 0:
					counts["silent"]++
					t.Errorf("%v: %d faults that nobody was told of (%v), the first: %s", d, len(silent), told,
						silent[0])
				case told != nil:
					counts["told"]++
				default:
					counts["harmless"]++
				}
			}
			t.Logf("%v; lost after a repair at the most: %v", counts, most)
		})
	}
}

// contentsOf returns checksums of the files that hold messages.
func contentsOf(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	sums := map[string]uint32{}
	for _, name := range []string{"queues.db", "queues.db-wal", "queues.db" + sqlitefile.MarkSuffix, "queues.log"} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err == nil && len(b) > 0 {
			sums[name] = crc32.ChecksumIEEE(b)
		}
	}
	return sums
}

// memoryDir is a directory that needs no disk, where there is one: the copies are many.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "muster-damage-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// copyOf copies a directory to an empty one below scratch.
func copyOf(t *testing.T, dir, scratch string) string {
	t.Helper()
	to := filepath.Join(scratch, "copy")
	if err := errors.Join(os.RemoveAll(to), damage.Copy(dir, to)); err != nil {
		t.Fatal(err)
	}
	return to
}

// TestARepairWithFramesOfTwoGenerations shortens the write-ahead log after a full log was taken over: then the log has
// frames of before and after that, and what can be saved of the tables holds some of the same messages.
func TestARepairWithFramesOfTwoGenerations(t *testing.T) {
	a := acknowledged{messages: map[string]Peeked{}, seqs: map[string]uint64{}, deleted: map[string]bool{}}
	dir, scratch := t.TempDir(), memoryDir(t)
	s := open(t, Options{Dir: dir, MemoryBytes: 1})
	mustCreate(t, s, "q", nil)
	for n := range 24 {
		mustSend(t, s, "q", fmt.Sprint("first ", n))
	}
	for range 7 { // more than the log has room for, so that it is taken over in between
		mustSend(t, s, "q", slices.Repeat([]string{strings.Repeat("x", 100_000)}, MaxBatch)...)
	}
	err := s.PeekEach(t.Context(), "q", AnyState, func(p Peeked) bool {
		a.messages[p.ID] = p
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	for e := range state(s).Names["q"].All {
		a.seqs[rules.FormatUUID(must(s.contents.Record(e.Seq))(t).ID)] = e.Seq
	}
	copyOf(t, dir, scratch)
	size := must(os.Stat(filepath.Join(dir, "queues.db-wal")))(t).Size()
	if seen := s.store.(*storage.SqliteStore).Log.Generation; seen == 0 || size < 3<<20 {
		t.Fatalf("generation %d, a write-ahead log of %d bytes: the log was not taken over", seen, size)
	}
	crashed := filepath.Join(t.TempDir(), "crashed")
	if err := damage.Copy(filepath.Join(scratch, "copy"), crashed); err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, twelfth := range []int64{3, 7, 8} {
		at := size * twelfth / 12
		dir := copyOf(t, crashed, scratch)
		if err := os.Truncate(filepath.Join(dir, "queues.db-wal"), at); err != nil {
			t.Fatal(err)
		}
		silent, n := a.repair(t, dir)
		for _, text := range silent {
			t.Errorf("cut at byte %d: %s", at, text)
		}
		lost += n
	}
	t.Logf("%d messages lost in all", lost)
}
