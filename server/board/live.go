package board

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/server/stream"
)

const (
	// tickEvery is the interval at which changes are published.
	tickEvery = 500 * time.Millisecond
	// watchedFor is how long the board is kept up to date after the last page that polls it.
	watchedFor = time.Minute
)

// The names of the stream's events.
const (
	boardEvent     = "board"
	changeEvent    = "change"
	decisionEvent  = "decision"
	incidentsEvent = "incidents"
	faultsEvent    = "faults"
	fleetEvent     = "fleet"
)

// Live is the board of the running fleets. Any goroutine may use it.
type Live struct {
	o            Options
	log          *stream.Log
	explanations explanations
	failures     failures

	mu sync.Mutex
	// epochs counts the restarts of the log; id tells this process from others.
	id     string
	epochs int
	// until is when the board stops being kept up to date, unless a page asks again; current says that it is.
	until   time.Time
	current bool
	// The fields below are the state that the log's events lead to.
	rows      map[string]Row
	from      map[string]basis
	totals    Totals
	faults    []string
	incidents []string // the ids of the open ones
	// seen is kept also while no page watches.
	seen map[string]standingDecision
}

// basis is what a row was derived from: while it is the same, so is the row.
type basis struct {
	at         time.Time
	ready      bool
	unrecorded string
	standing   server.Standing
	decision   standingDecision
}

// standingDecision is the last decision of a fleet: its record, and since when it says the same.
type standingDecision struct {
	id      string
	since   time.Time
	verdict muster.Verdict
	reason  muster.Reason
	desired int
}

// New returns a board of the fleets. [Live.Run] keeps it up to date.
func New(o Options) *Live {
	var id [4]byte
	rand.Read(id[:])
	l := &Live{o: o, id: hex.EncodeToString(id[:]), rows: map[string]Row{}, from: map[string]basis{},
		seen: map[string]standingDecision{}}
	l.log = stream.New(l.epoch())
	return l
}

// epoch names the present epoch of the log.
func (l *Live) epoch() string { return fmt.Sprintf("%s-%d", l.id, l.epochs) }

// See takes the outcome of a step. It returns soon.
func (l *Live) See(o controller.Outcome) {
	fleet, d := o.Observation.Fleet, o.Decision
	if !o.Ready {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	before, known := l.seen[fleet]
	now := before
	same := known && before.verdict == d.Verdict && before.reason == d.Reason && before.desired == d.Desired &&
		d.Previous == d.Desired
	if !same {
		now.since, now.verdict, now.reason, now.desired = d.At, d.Verdict, d.Reason, d.Desired
	}
	if id := recorded(fleet, o); id != "" {
		now.id = id
	}
	l.seen[fleet] = now
	if !same && l.current {
		l.publish(decisionEvent, shortOf(now.id, d))
	}
}

// recorded returns the id of the decision that a step recorded; empty if it recorded none.
func recorded(fleet string, o controller.Outcome) string {
	for i, r := range o.Records {
		if controller.Decides(r) {
			after := int64(len(o.Records) - 1 - i)
			return decisionID(fleet, muster.Position{Epoch: o.Next.Position.Epoch, Seq: o.Next.Position.Seq - after})
		}
	}
	return ""
}

// decisionID names a recorded decision.
func decisionID(fleet string, p muster.Position) string {
	return fmt.Sprintf("%s/%d.%d", fleet, p.Epoch, p.Seq)
}

// Run publishes changes until ctx ends.
func (l *Live) Run(ctx context.Context) {
	tick := time.NewTicker(tickEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			l.tick(now.UTC().Round(0))
		}
	}
}

// tick publishes what changed, if a page watches.
func (l *Live) tick(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.current = l.current && (l.log.Readers() > 0 || now.Before(l.until)); l.current {
		l.update(now)
	}
}

// watch makes the board current because a page asks. After a time without one the log lacks events, so it starts over:
// no old cursor is valid then.
func (l *Live) watch(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = now.Add(watchedFor)
	if l.current {
		return
	}
	l.current = true
	l.update(now)
	l.epochs++
	l.log.Restart(l.epoch())
}

// whole returns the board at a time with its cursor. The caller has called watch.
func (l *Live) whole(now time.Time) Board {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.update(now)
	b := Board{At: now, Cursor: l.log.Cursor(), Version: l.o.Version, Fleets: []Row{}, Totals: l.totals,
		Faults: append([]string{}, l.faults...), OpenIncidents: len(l.incidents)}
	for _, name := range slices.Sorted(maps.Keys(l.rows)) {
		b.Fleets = append(b.Fleets, l.rows[name])
	}
	return b
}

// row returns the present row of a fleet; false if it is not configured.
func (l *Live) row(name string, now time.Time) (Row, bool) {
	f, ok := l.o.Fleets()[name]
	if !ok {
		return Row{}, false
	}
	o, stepped := f.Last()
	l.mu.Lock()
	decision := l.seen[name]
	l.mu.Unlock()
	return withDecision(RowOf(server.StatusOf(name, o, stepped, l.standing()[name])), decision), true
}

// withDecision adds what the board knows of a decision.
func withDecision(r Row, d standingDecision) Row {
	if r.Decision.ID = d.id; !d.since.IsZero() {
		r.Decision.At = d.since
	}
	return r
}

func (l *Live) standing() map[string]server.Standing {
	if l.o.Standing == nil {
		return nil
	}
	return l.o.Standing()
}

// update brings rows, faults and incidents up to date and publishes the differences. The lock is held.
func (l *Live) update(now time.Time) {
	fleets, standing := l.o.Fleets(), l.standing()
	change := Change{At: now, Fleets: []map[string]any{}, Gone: []string{}}
	for _, name := range slices.Sorted(maps.Keys(fleets)) {
		o, stepped := fleets[name].Last()
		from := basis{o.Observation.At, o.Ready, o.Unrecorded, standing[name], l.seen[name]}
		before, known := l.rows[name]
		if known && from == l.from[name] {
			continue
		}
		row := withDecision(RowOf(server.StatusOf(name, o, stepped, standing[name])), l.seen[name])
		l.rows[name], l.from[name] = row, from
		if fields := differences(before, row); len(fields) > 1 || !known {
			change.Fleets = append(change.Fleets, fields)
		}
	}
	for name := range l.rows {
		if _, ok := fleets[name]; !ok {
			delete(l.rows, name)
			delete(l.from, name)
			delete(l.seen, name)
			change.Gone = append(change.Gone, name)
		}
	}
	slices.Sort(change.Gone)
	if totals := totalsOf(l.rows); totals != l.totals {
		l.totals, change.Totals = totals, &totals
	}
	if len(change.Fleets) > 0 || len(change.Gone) > 0 || change.Totals != nil {
		l.publish(changeEvent, change)
	}
	l.updateTroubles()
}

// updateTroubles publishes changed faults and incidents. The lock is held.
func (l *Live) updateTroubles() {
	faults := []string{}
	if l.o.Faults != nil {
		faults = append(faults, l.o.Faults()...)
	}
	if !slices.Equal(faults, l.faults) {
		l.faults = faults
		l.publish(faultsEvent, map[string]any{"faults": faults})
	}
	if l.o.Incidents == nil {
		return
	}
	ids := []string{}
	for _, i := range l.o.Incidents().Open {
		ids = append(ids, i.ID)
	}
	if !slices.Equal(ids, l.incidents) {
		l.incidents = ids
		l.publish(incidentsEvent, map[string]any{"open": len(ids)})
	}
}

// publish adds an event to the log. Every value that is published can be encoded.
func (l *Live) publish(name string, value any) {
	if text, err := json.Marshal(value); err == nil {
		l.log.Publish(name, text)
	}
}

// differences returns the fields of a row that differ from before, by their JSON names, and always the name.
func differences(before, now Row) map[string]any {
	fields := map[string]any{"name": now.Name}
	a, b := reflect.ValueOf(before), reflect.ValueOf(now)
	for i := range b.NumField() {
		if !a.Field(i).Equal(b.Field(i)) {
			fields[b.Type().Field(i).Tag.Get("json")] = b.Field(i).Interface()
		}
	}
	return fields
}

// totalsOf sums the rows. A fleet that is not sized has no numbers, and makes no sum unknown.
func totalsOf(rows map[string]Row) Totals {
	t := Totals{Desired: count(0), InService: count(0), Backlog: count(0)}
	ended, inTime := 0.0, 0.0
	for _, r := range rows {
		if r.State == NotSized {
			continue
		}
		add(&t.Desired, r.Desired)
		add(&t.InService, r.InService)
		add(&t.Backlog, r.Backlog)
		if r.CostPerHour.Known {
			t.CostPerHour = Known(t.CostPerHour.Value + r.CostPerHour.Value)
		}
		if r.InTime.Known {
			ended, inTime = ended+r.Ended.Value, inTime+r.InTime.Value*r.Ended.Value
		}
	}
	t.InTime = knownIf(ended > 0, inTime/cmp.Or(ended, 1))
	return t
}

// add adds a number to a sum; an unknown one makes the sum unknown.
func add(sum *Number, n Number) {
	*sum = knownIf(sum.Known && n.Known, sum.Value+n.Value)
}
