package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/controller/loop"
	"github.com/muster-scale/muster/kinds"
	"github.com/muster-scale/muster/worker/protocol"
)

// stage runs fleets whose parts are fakes, in a bubble where time is virtual.
type fleetStage struct {
	t      *testing.T
	fleets *fleets
	quit   context.CancelFunc
	over   chan struct{}

	mu       sync.Mutex
	log      []string
	said     []string
	failures map[string][]error // of the next opens, by fleet
	there    map[string]*fakeFleet
}

// fakeFleet is a fleet with one worker, which holds a message until it is told to finish.
type fakeFleet struct {
	stage   *fleetStage
	name    string
	queue   string
	max     int
	broken  chan error
	working chan struct{} // closed when the worker has finished
}

func (f *fakeFleet) run(ctx context.Context, began func()) error {
	began()
	select {
	case err := <-f.broken:
		return err
	case <-ctx.Done():
		return nil
	}
}

func (f *fakeFleet) change(_ context.Context, c config.Fleet) error {
	f.stage.note("change %s max %d", f.name, c.Limits.Max)
	f.max = c.Limits.Max
	return nil
}

func (f *fakeFleet) close() {
	f.stage.note("close %s", f.name)
	<-f.working
	f.stage.mu.Lock()
	defer f.stage.mu.Unlock()
	delete(f.stage.there, f.name)
}

func (s *fleetStage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

func (s *fleetStage) open(_ context.Context, c config.Fleet, left *opened) (*opened, error) {
	s.note("open %s of %s max %d", c.Name, c.Queues[0].Name, c.Limits.Max)
	s.mu.Lock()
	defer s.mu.Unlock()
	f := &fakeFleet{
		stage:   s,
		name:    c.Name,
		queue:   c.Queues[0].Name,
		max:     c.Limits.Max,
		broken:  make(chan error, 1),
		working: make(chan struct{}),
	}
	if before := s.there[c.Name]; before != nil {
		if left == nil || left.sizedFleet != sizedFleet(before) || before.queue != f.queue {
			s.t.Errorf("fleet %s is opened while the workers of an earlier one are there", c.Name)
		}
		f.working = before.working
	}
	s.there[c.Name] = f
	whole := &opened{sizedFleet: f}
	if failures := s.failures[c.Name]; len(failures) > 0 {
		s.failures[c.Name] = failures[1:]
		return whole, failures[0]
	}
	whole.serves = absent{}
	return whole, nil
}

func onFleetStage(t *testing.T, play func(*fleetStage), first ...config.Fleet) {
	synctest.Test(t, func(t *testing.T) {
		s := &fleetStage{t: t, over: make(chan struct{}), failures: map[string][]error{},
			there: map[string]*fakeFleet{}}
		s.fleets = newFleets(
			s.open,
			func(line string) { s.mu.Lock(); defer s.mu.Unlock(); s.said = append(s.said, line) },
			slog.New(slog.DiscardHandler),
		)
		ctx, quit := context.WithCancel(t.Context())
		s.quit = quit
		go func() { defer close(s.over); s.fleets.run(ctx, first) }()
		synctest.Wait()
		play(s)
		quit()
		synctest.Wait()
		s.mu.Lock()
		for _, f := range s.there {
			f.finish()
		}
		s.mu.Unlock()
		<-s.over
		if len(s.there) > 0 {
			t.Errorf("%d fleets are there after the end", len(s.there))
		}
	})
}

func (f *fakeFleet) finish() {
	select {
	case <-f.working:
	default:
		close(f.working)
	}
}

func (s *fleetStage) fleet(name string) *fakeFleet {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.there[name]
}

func (s *fleetStage) want(c ...config.Fleet) string {
	var said []string
	for _, n := range s.fleets.want(s.t.Context(), wanted(c, false)) {
		said = append(said, n.String())
	}
	synctest.Wait()
	return strings.Join(said, "; ")
}

func (s *fleetStage) happened(want ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.log, want) {
		s.t.Errorf("found\n%s\nwant\n%s", strings.Join(s.log, "\n"), strings.Join(want, "\n"))
	}
}

func servingQueue(name, queue string, most int) config.Fleet {
	return config.Fleet{Name: name, Queues: []config.QueueRef{{Name: queue}}, Limits: muster.Limits{Max: most}}
}

func TestABusyFleetIsChangedAgainAndAgainWithoutEndingAnything(t *testing.T) {
	onFleetStage(t, func(s *fleetStage) {
		s.want(servingQueue("jobs", "second", 3))
		s.want(servingQueue("jobs", "third", 3))
		s.want()
		s.want(servingQueue("jobs", "first", 3))
		if said := s.want(
			servingQueue("jobs", "fourth", 4),
		); !strings.Contains(
			said,
			"fleet jobs has changed and restarts once",
		) {
			t.Errorf("it said %q", said)
		}
		if stands := s.fleets.standing()["jobs"]; stands.Phase != "stopping" {
			t.Errorf("while its worker works the fleet is %s, want stopping", stands.Phase)
		}
		if _, there := s.fleets.served()["jobs"]; !there {
			t.Error("the API does not know the fleet whose worker still works")
		}
		s.happened("open jobs of first max 3", "close jobs")
		s.fleet("jobs").finish()
		synctest.Wait()
		s.happened("open jobs of first max 3", "close jobs", "open jobs of fourth max 4")
		s.want(servingQueue("jobs", "fourth", 5))
		s.happened("open jobs of first max 3", "close jobs", "open jobs of fourth max 4", "change jobs max 5")
	}, servingQueue("jobs", "first", 3))
}

func TestAFleetThatFailsIsTriedAgainWithItsWorkersAndTheOthersGoOn(t *testing.T) {
	onFleetStage(t, func(s *fleetStage) {
		s.failures["new"] = []error{errors.New("the history is full"), errors.New("the history is full")}
		s.want(servingQueue("jobs", "first", 3), servingQueue("new", "second", 1))
		stands := s.fleets.standing()
		if stands["new"].Phase != "failed" || stands["new"].Failure != "the history is full" ||
			stands["jobs"].Phase != "running" {
			t.Errorf("the fleets stand at %+v", stands)
		}
		time.Sleep(3*time.Second + time.Millisecond)
		synctest.Wait()
		if stands := s.fleets.standing(); stands["new"].Phase != "running" || stands["new"].Failure != "" {
			t.Errorf("after two failures and 3 s the fleet stands at %+v", stands["new"])
		}
		s.happened(
			"open jobs of first max 3",
			"open new of second max 1",
			"open new of second max 1",
			"open new of second max 1",
		)
		// Its loop fails while a worker works: the next start takes the worker over.
		s.fleet("jobs").broken <- errors.New("the history cannot be read")
		synctest.Wait()
		if stands := s.fleets.standing()["jobs"]; stands.Phase != "failed" ||
			stands.RetryAt.Sub(time.Now()) != time.Second {
			t.Errorf("the fleet stands at %+v, want failed with a try in a second", stands)
		}
		time.Sleep(time.Second + time.Millisecond)
		synctest.Wait()
		if stands := s.fleets.standing()["jobs"]; stands.Phase != "running" {
			t.Errorf("the fleet stands at %+v, want running again", stands)
		}
	}, servingQueue("jobs", "first", 3))
}

func TestAFleetThatAnotherControllerHasTakenIsLeftToIt(t *testing.T) {
	onFleetStage(t, func(s *fleetStage) {
		s.fleet("jobs").broken <- fmt.Errorf("fleet jobs: %w", muster.ErrConflict)
		time.Sleep(time.Hour)
		synctest.Wait()
		if stands := s.fleets.standing()["jobs"]; stands.Phase != "failed" || !stands.RetryAt.IsZero() {
			t.Errorf("the fleet stands at %+v, want failed and not tried again", stands)
		}
		s.happened("open jobs of first max 3")
		s.fleets.want(s.t.Context(), wanted([]config.Fleet{servingQueue("jobs", "first", 3)}, true))
		synctest.Wait()
		s.happened("open jobs of first max 3", "open jobs of first max 3")
	}, servingQueue("jobs", "first", 3))
}

func TestAnEndWaitsForWorkersOfEveryFleetInEveryPhase(t *testing.T) {
	onFleetStage(t, func(s *fleetStage) {
		s.failures["fails"] = []error{errors.New("no room")}
		s.want(servingQueue("fails", "f", 1), servingQueue("changes", "other", 1), servingQueue("runs", "r", 1))
		s.quit()
		synctest.Wait()
		select {
		case <-s.over:
			t.Fatal("it ended while workers worked")
		default:
		}
		if notes := s.fleets.want(s.t.Context(), wanted(nil, false)); len(notes) > 0 {
			t.Errorf("a configuration was taken over at the end: %v", notes)
		}
		for name := range s.fleets.served() {
			if _, err := s.fleets.served()[name].Report(
				s.t.Context(),
				protocol.Report{},
			); !errors.Is(
				err,
				loop.ErrNotReady,
			) {
				t.Errorf("a report to %s at the end: %v", name, err)
			}
		}
	}, servingQueue("changes", "c", 1))
}

// TestTheAPIKnowsTheFleetsBeforeTheyBegin: a client that asks in the first moment must not hear that there is no such
// fleet.
func TestTheAPIKnowsTheFleetsBeforeTheyBegin(t *testing.T) {
	c, err := kinds.Parse("m.yaml", []byte("version: 1\nfleets:\n  - {name: words, queue: words, max: 1, "+
		"workers: {command: [cat]}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	c.Data, c.Listen = t.TempDir(), config.Listen{Queue: "127.0.0.1:0", API: "127.0.0.1:0"}
	a, err := Open(t.Context(), c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, known := a.fleets.served()["words"]; !known || a.fleets.standing()["words"].Phase != "waiting" {
		t.Errorf("before it begins, the fleet is served %t and is %+v", known, a.fleets.standing()["words"])
	}
}
