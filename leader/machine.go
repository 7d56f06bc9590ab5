package leader

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	// takesAtOnce bounds the claims under way, and so the load of a take-over on the store.
	takesAtOnce = 64
	// readsAlways is up to how many fleets every read has the claims. With more, they are read when the sessions
	// changed, when a claim was not as expected, and every claimsEvery.
	readsAlways = 100
	claimsEvery = 10 * time.Second
)

// Options configure a [Machine].
type Options struct {
	// ID is a random text, other than that of every other process. Name is for people.
	ID, Name string
	Timing   Timing
	// Fleets are the names of the fleets that this controller may lead.
	Fleets []string
}

// Machine decides for one controller. It is not safe for use by several goroutines.
type Machine struct {
	o       Options
	session Session // as last written, or begun
	begun   int     // counts the sessions, for their IDs
	fleets  map[string]*fleet
	list    []*fleet // sorted by name, so that equal inputs have equal actions
	others  map[string]*other
	counts  map[string]int // claims by holder, as last read

	stepped            time.Duration // the time of the last step
	beating, reading   bool
	nextBeat, nextRead time.Duration
	// tried is the beat that was sent last, and triedAt when it was first sent.
	tried   Session
	triedAt time.Duration
	// until is the end of the right to act.
	until time.Duration
	// settled is since when the sessions are the same.
	settled time.Duration
	// claimsRead is when the claims were last read; wantClaims asks for them with the next read.
	claimsRead time.Duration
	wantClaims bool
	known      bool // the claims were read
	// generation counts the changes of the sessions, for the ranks of fleets.
	generation int
	evicting   map[string]bool
	// phases counts the fleets in each phase. look is set when a fleet may have become free.
	phases   [4]int
	look     bool
	quitting bool
	out      []Action
}

// other is another controller's session, and since when it has the same beat.
type other struct {
	Session
	since time.Duration
	retry time.Duration // not to be evicted before
}

// due is when it may be evicted.
func (o *other) due(t Timing) time.Duration { return max(o.since+t.Lease, o.retry) }

// phase is what this controller does with a fleet.
type phase int

const (
	apart    phase = iota // it does not lead it
	taking                // a Take is under way
	leading               // it leads it
	yielding              // it was told to yield, and has not answered
)

// fleet is one fleet as this controller knows it.
type fleet struct {
	name   string
	claim  Claim
	phase  phase
	wanted bool
	// free is since when the claim has no live holder; -1 while it has.
	free time.Duration
	// to is the session that a yielded fleet is for.
	to string
	// rank is valid for the sessions of the generation ranked.
	rank, ranked int
}

// New returns the machine of a controller that leads nothing yet.
func New(o Options) *Machine {
	m := &Machine{o: o, fleets: map[string]*fleet{}, others: map[string]*other{}, counts: map[string]int{},
		evicting: map[string]bool{}, wantClaims: true, until: -1, claimsRead: -claimsEvery}
	m.begin()
	m.want(o.Fleets)
	return m
}

// begin begins a new session. A session that was evicted must not come back.
func (m *Machine) begin() {
	m.begun++
	m.session = Session{ID: fmt.Sprintf("%s.%d", m.o.ID, m.begun), Name: m.o.Name}
	m.until = -1
}

// Until returns the time until which the led fleets may be acted on; -1 if there is no such time. No call that acts may
// be under way afterwards.
func (m *Machine) Until() time.Duration { return m.until }

// Over tells whether everything was handed over after [Quit].
func (m *Machine) Over() bool { return m.quitting && m.session.ID == "" }

// Leads returns the fleets that this controller leads at a time, sorted.
func (m *Machine) Leads(now time.Duration) []string {
	var led []string
	if now >= m.until {
		return nil
	}
	for _, f := range m.list {
		if f.phase == leading {
			led = append(led, f.name)
		}
	}
	return led
}

// Leader returns the name of the controller that leads a fleet as far as is known, and whether that is this one. The
// name is empty for a fleet without a leader.
func (m *Machine) Leader(name string) (leader string, own bool) {
	f := m.fleets[name]
	if f == nil {
		return "", false
	}
	own = f.claim.Holder == m.session.ID && f.phase == leading
	if !own && m.others[f.claim.Holder] == nil {
		return "", false // its holder is gone, or is this controller, whose right has ended
	}
	return f.claim.Name, own
}

// Controllers returns the names of all live controllers, this one too, sorted.
func (m *Machine) Controllers() []string {
	names := []string{m.o.Name}
	for _, o := range m.others {
		names = append(names, o.Name)
	}
	slices.Sort(names)
	return names
}

// Next returns when to step with a [Tick] at the latest.
func (m *Machine) Next() time.Duration {
	next := m.stepped + m.o.Timing.Every
	if !m.beating {
		next = min(next, m.nextBeat)
	}
	if !m.reading {
		next = min(next, m.nextRead)
	}
	for _, o := range m.others {
		if !m.evicting[o.ID] {
			next = min(next, o.due(m.o.Timing))
		}
	}
	if m.phases[leading] > 0 {
		next = min(next, m.until)
	}
	return next
}

// Step takes an input at a time of the controller's monotonic clock, which never falls, and returns what to do.
func (m *Machine) Step(now time.Duration, in Input) []Action {
	m.out, m.stepped = nil, now
	switch in := in.(type) {
	case Beaten:
		m.beaten(now, in)
	case Found:
		m.found(now, in)
	case Evicted:
		m.evicted(now, in)
	case Took:
		m.took(now, in)
	case Yielded:
		m.yielded(in.Fleet)
	case Want:
		m.want(in.Fleets)
	case Quit:
		m.quitting = true
	}
	m.lose(now)
	m.call(now)
	if now < m.until && !m.quitting {
		m.take(now)
		m.balance(now)
	}
	m.leave(now)
	return m.out
}

func (m *Machine) do(a Action) { m.out = append(m.out, a) }

// want sets which fleets may be led.
func (m *Machine) want(names []string) {
	for _, f := range m.fleets {
		f.wanted = false
	}
	for _, name := range names {
		if m.fleets[name] == nil {
			m.fleets[name] = &fleet{name: name, free: -1, ranked: -1}
			m.phases[apart]++
			m.wantClaims, m.known = true, false
		}
		m.fleets[name].wanted = true
	}
	for _, f := range m.list {
		if !f.wanted && f.phase == leading {
			m.yield(f, "")
		}
	}
	m.drop()
}

// drop removes the fleets that are not wanted any more and need nothing.
func (m *Machine) drop() {
	maps.DeleteFunc(m.fleets, func(_ string, f *fleet) bool {
		gone := !f.wanted && f.phase == apart
		if gone {
			m.phases[apart]--
		}
		return gone
	})
	m.list = slices.SortedFunc(maps.Values(m.fleets), func(a, b *fleet) int { return cmp.Compare(a.name, b.name) })
	m.look = true
}

// set moves a fleet to another phase.
func (m *Machine) set(f *fleet, p phase) {
	m.phases[f.phase]--
	m.phases[p]++
	f.phase, m.look = p, true
}

// beaten extends the right to act. It counts from when this beat was first sent: a call that seemed to fail may have
// stored it, and others have watched it since.
func (m *Machine) beaten(now time.Duration, in Beaten) {
	m.beating = false
	if in.Session.ID != m.session.ID {
		return // of an earlier session
	}
	switch {
	case in.Err == nil:
		m.session = in.Session
		m.until = max(m.until, m.triedAt+m.o.Timing.Stop())
		m.nextBeat = m.triedAt + m.o.Timing.Every
	case errors.Is(in.Err, ErrEvicted):
		m.begin()
		m.generation++
		m.nextBeat, m.wantClaims = now, true
	default:
		m.nextBeat = now + m.o.Timing.Every/3
	}
}

// found learns what other controllers do.
func (m *Machine) found(now time.Duration, in Found) {
	m.reading = false
	if in.Err != nil {
		m.wantClaims = true
		return
	}
	m.look = true
	there := map[string]bool{}
	for _, s := range in.Board.Sessions {
		if s.ID == m.session.ID || s.ID == "" {
			continue
		}
		there[s.ID] = true
		o := m.others[s.ID]
		if o == nil {
			o = &other{since: now}
			m.others[s.ID] = o
			m.changed(now)
		}
		if o.Beat != s.Beat {
			o.since = now
		}
		o.Session = s
	}
	for id := range m.others {
		if !there[id] {
			m.forget(now, id)
		}
	}
	if in.Board.Claims == nil {
		return
	}
	m.counts, m.known = map[string]int{}, true
	for _, c := range in.Board.Claims {
		m.counts[c.Holder]++
	}
	for _, f := range m.list {
		// An older claim was read before a Take that has succeeded meanwhile.
		if c := in.Board.Claims[f.name]; c.Term > f.claim.Term && f.phase != taking {
			f.claim = c
			if f.phase == leading {
				m.yield(f, "")
			}
		}
	}
}

// changed notes that the sessions are not the same any more. Then claims are read, and nothing is balanced for a while.
func (m *Machine) changed(now time.Duration) {
	m.settled, m.wantClaims = now, true
	m.generation++
}

// forget removes a session that is gone.
func (m *Machine) forget(now time.Duration, id string) {
	delete(m.others, id)
	m.changed(now)
}

func (m *Machine) evicted(now time.Duration, in Evicted) {
	delete(m.evicting, in.Session.ID)
	if in.Session.ID == m.session.ID && m.quitting {
		m.session = Session{} // over, even if the store failed: the others evict it
		return
	}
	if o := m.others[in.Session.ID]; o != nil {
		if in.Err == nil {
			m.forget(now, in.Session.ID)
			return
		}
		// It was renewed, another controller was faster, or the store failed: the next read tells.
		o.retry = now + m.o.Timing.Every
	}
}

// took learns whether a claim was changed. Until the claims are read again, only a success is certain.
func (m *Machine) took(now time.Duration, in Took) {
	f := m.fleets[in.Fleet]
	if f == nil {
		return
	}
	m.set(f, apart)
	if in.Err != nil {
		// Whatever the claim is, the next read tells, even if the store was emptied.
		m.wantClaims, m.known, f.free, f.claim = true, false, -1, Claim{Term: -1}
		return
	}
	f.claim, f.free = in.To, -1
	mine := in.To.Holder == m.session.ID
	switch {
	case mine && !f.wanted:
		m.change(f, Claim{Term: f.claim.Term + 1})
	case !f.wanted:
		m.drop()
	case mine && now < m.until && !m.quitting:
		m.set(f, leading)
		m.do(Lead{in.Fleet})
	}
}

// yield tells to stop acting for a fleet.
func (m *Machine) yield(f *fleet, to string) {
	m.set(f, yielding)
	f.to = to
	m.do(Yield{f.name})
}

// yielded frees a fleet that nothing acts for any more, unless another session holds it.
func (m *Machine) yielded(name string) {
	f := m.fleets[name]
	if f == nil || f.phase != yielding {
		return
	}
	m.set(f, apart)
	f.free = -1
	switch {
	case f.claim.Holder == m.session.ID && (f.to != "" || m.quitting || !f.wanted):
		m.change(f, Claim{For: f.to, Term: f.claim.Term + 1})
	case !f.wanted:
		m.drop()
	}
}

// change takes or frees a claim.
func (m *Machine) change(f *fleet, to Claim) {
	m.set(f, taking)
	m.do(Take{f.name, f.claim, to})
}

// lose yields everything when the right to act has ended. The loops have stopped by themselves at this time; yielding
// lets them end in order.
func (m *Machine) lose(now time.Duration) {
	if m.phases[leading] == 0 || now < m.until && !m.quitting {
		return
	}
	for _, f := range m.list {
		if f.phase == leading {
			m.yield(f, "")
		}
	}
}

// call renews the session, reads the board and evicts sessions that are not renewed.
func (m *Machine) call(now time.Duration) {
	if m.session.ID == "" {
		return
	}
	if !m.beating && now >= m.nextBeat {
		next := m.session
		next.Beat++
		if m.beating = true; m.tried != next {
			m.tried, m.triedAt = next, now
		}
		m.do(Beat{next})
	}
	if !m.reading && now >= m.nextRead {
		claims := m.wantClaims || len(m.fleets) <= readsAlways || now-m.claimsRead >= claimsEvery
		if claims {
			m.wantClaims, m.claimsRead = false, now
		}
		m.reading, m.nextRead = true, now+m.o.Timing.Every
		m.do(Read{claims})
	}
	for _, id := range slices.Sorted(maps.Keys(m.others)) {
		if o := m.others[id]; now >= o.due(m.o.Timing) && !m.evicting[id] {
			m.evicting[id] = true
			m.do(Evict{o.Session})
		}
	}
}

// take takes fleets without a live holder: those that rank this controller first at once, others when those that rank
// before it had time to do so and did not, such as a controller with an older configuration.
func (m *Machine) take(now time.Duration) {
	if !m.known || !m.look || m.phases[apart] == 0 {
		return
	}
	for _, f := range m.list {
		if m.phases[taking] >= takesAtOnce {
			return
		}
		if f.phase != apart || !f.wanted {
			continue
		}
		if h := f.claim.Holder; h != "" && h != m.session.ID && m.others[h] != nil {
			f.free = -1
			continue
		}
		if f.free < 0 {
			f.free = now
		}
		rank := m.rank(f)
		if f.claim.Holder == m.session.ID || now-f.free >= time.Duration(rank)*m.o.Timing.Lease {
			m.change(f, Claim{Holder: m.session.ID, Name: m.o.Name, Term: f.claim.Term + 1})
		}
	}
	m.look = false
}

// rank is how many live sessions come before this one for a fleet.
func (m *Machine) rank(f *fleet) int {
	if f.ranked != m.generation {
		f.rank, f.ranked = 0, m.generation
		mine := score(f.name, m.session.ID)
		for id := range m.others {
			if score(f.name, id) > mine {
				f.rank++
			}
		}
	}
	switch to := f.claim.For; {
	case to == m.session.ID:
		return 0
	case to != "" && m.others[to] != nil:
		return f.rank + 1
	}
	return f.rank
}

// score is how well a session suits a fleet: FNV-1a of both with a final mix, because the last bytes of names that are
// counted up would else decide. All controllers compute the same.
func score(fleet, session string) uint64 {
	h := uint64(14695981039346656037)
	for _, text := range [...]string{session, "\x00", fleet} {
		for i := range len(text) {
			h = (h ^ uint64(text[i])) * 1099511628211
		}
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// balance hands fleets over to the session with the fewest, when this one has more than its share and a tenth. The
// margin, and the wait until the sessions have settled, keep fleets from wandering.
func (m *Machine) balance(now time.Duration) {
	if len(m.others) == 0 || now-m.settled < m.o.Timing.Settle || m.phases[taking]+m.phases[yielding] > 0 {
		return
	}
	controllers := len(m.others) + 1
	share := (len(m.list) + controllers - 1) / controllers
	if m.phases[leading] <= share+share/10 {
		return
	}
	led := slices.DeleteFunc(slices.Clone(m.list), func(f *fleet) bool { return f.phase != leading })
	counts := map[string]int{}
	for id := range m.others {
		counts[id] = m.counts[id]
	}
	// Fleets that rank another controller high go first, so that fewer move when this one ends.
	slices.SortStableFunc(led, func(a, b *fleet) int {
		return cmp.Compare(score(a.name, m.session.ID), score(b.name, m.session.ID))
	})
	for _, f := range led[:min(len(led)-share, takesAtOnce)] {
		to := slices.MinFunc(slices.Sorted(maps.Keys(counts)), func(a, b string) int {
			return cmp.Compare(counts[a], counts[b])
		})
		if counts[to] >= share {
			break
		}
		counts[to]++
		m.yield(f, to)
	}
	m.wantClaims = true
}

// leave ends the session after Quit, once no fleet is led.
func (m *Machine) leave(now time.Duration) {
	if !m.quitting || m.session.ID == "" || m.evicting[m.session.ID] || m.beating || m.phases[apart] < len(m.list) {
		return
	}
	if m.session.Beat == 0 {
		m.session = Session{}
		return
	}
	m.evicting[m.session.ID] = true
	m.do(Evict{m.session})
}
