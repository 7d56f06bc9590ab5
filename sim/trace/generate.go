package trace

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/sim/trace/internal/chance"
)

// Generator makes traces from a few settings and a seed. [Generators] returns them.
type Generator struct {
	// Name begins a specification, such as poisson in poisson:rate=2. What describes the trace in one line.
	Name, What string
	// Parameters are its settings, in the order of the documentation.
	Parameters []Parameter

	// plan prepares the messages for settings and a seed.
	plan func(settings, uint64) plan
}

// Parameter is one setting of a generator.
type Parameter struct {
	// Name is the key in key=value. What says what it sets.
	Name, What string
	// Default is the value of a setting that is not given, as it would be written.
	Default string

	// kind says how a value is written. Numbers are from least to most; a word is one of words.
	kind        kind
	least, most float64 // in seconds for durations
	words       []string
}

// kind is the kind of a setting's value.
type kind int

const (
	number   kind = iota // a number, such as 0.5
	whole                // a whole number
	duration             // a number with a unit, such as 90s
	word                 // one of the parameter's words
)

// settings holds the values of a generator's parameters by name; durations are in seconds.
type settings struct {
	numbers map[string]float64
	words   map[string]string
}

// Generate returns the trace of a specification, for example step:rate=1,to=10,at=600s: the name of a generator and the
// settings that differ from its defaults. The same specification and seed give the same messages, at any time and on
// any platform. An error says what in the specification is wrong. A specification that makes no message, or more than
// [MaxMessages], is an error too.
func Generate(spec string, seed uint64) (Trace, error) {
	name, rest, set := strings.Cut(spec, ":")
	g, ok := findGenerator(name)
	if !ok {
		all := generatorNames()
		return Trace{}, fmt.Errorf("there is no generator %q%s; there are %s", short([]byte(name)), near(name, all),
			strings.Join(all, ", "))
	}
	// A colon without settings is more likely a mistake than a request for the defaults.
	if set && rest == "" {
		return Trace{}, g.wrong(fmt.Errorf("found nothing after the colon, want key=value as in %s", g.example()))
	}
	s, err := g.settings(rest)
	if err != nil {
		return Trace{}, g.wrong(err)
	}
	p := g.plan(s, seed)
	if p.expected <= 0 { // without this check, the search for the first message would last as long as the trace
		return Trace{}, noMessage(spec)
	}
	// The negation also catches a number that is not finite.
	if !(p.expected <= MaxMessages) {
		return Trace{}, g.wrong(fmt.Errorf("found settings for about %.0f messages, want at most %d", p.expected,
			MaxMessages))
	}
	t := Trace{Name: spec, Open: func() (Reader, error) {
		return &generated{spec: spec, next: p.start(),
			left: MaxMessages}, nil
	}}
	return t, t.Each(func(Message) bool { return false })
}

// Generators returns all generators, the simplest first.
func Generators() []Generator { return generators() }

// findGenerator returns the generator of that name.
func findGenerator(name string) (Generator, bool) {
	all := generators()
	at := slices.IndexFunc(all, func(g Generator) bool { return g.Name == name })
	if at < 0 {
		return Generator{}, false
	}
	return all[at], true
}

// generatorNames returns the names of all generators, for error texts.
func generatorNames() (names []string) {
	for _, g := range generators() {
		names = append(names, g.Name)
	}
	return names
}

// wrong names the generator in an error.
func (g Generator) wrong(err error) error { return fmt.Errorf("generator %s: %w", g.Name, err) }

// example returns a specification to show in error texts.
func (g Generator) example() string {
	p := g.Parameters[0]
	return g.Name + ":" + p.Name + "=" + p.Default
}

// settings reads key=value,key=value over the defaults. Unknown, repeated and impossible settings are errors.
func (g Generator) settings(text string) (settings, error) {
	s := settings{map[string]float64{}, map[string]string{}}
	for _, p := range g.Parameters {
		// The defaults pass the same checks as the settings, so a wrong default cannot stay unnoticed.
		if err := s.set(p, p.Default); err != nil {
			return s, err
		}
	}
	if text == "" {
		return s, nil
	}
	var names, given []string
	for _, p := range g.Parameters {
		names = append(names, p.Name)
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(pair, "=")
		at := slices.Index(names, key)
		switch {
		case !ok:
			return s, fmt.Errorf("found %q, want key=value as in %s", short([]byte(pair)), g.example())
		case at < 0:
			return s, fmt.Errorf("found the unknown setting %q, allowed are %s%s", short([]byte(key)),
				strings.Join(names, ", "), near(key, names))
		case slices.Contains(given, key):
			return s, fmt.Errorf("found %s twice", key)
		}
		if err := s.set(g.Parameters[at], value); err != nil {
			return s, err
		}
		given = append(given, key)
	}
	return s, nil
}

// set reads the value of one parameter.
func (s settings) set(p Parameter, text string) error {
	var v float64
	var err error
	switch p.kind {
	case word:
		if !slices.Contains(p.words, text) {
			return fmt.Errorf("found %s=%s, allowed are %s%s", p.Name, short([]byte(text)),
				strings.Join(p.words, " and "), near(text, p.words))
		}
		s.words[p.Name] = text
		return nil
	case duration:
		var d time.Duration
		d, err = time.ParseDuration(text)
		v = d.Seconds()
	case whole:
		var n int64
		n, err = strconv.ParseInt(text, 10, 64)
		v = float64(n)
	default:
		v, err = strconv.ParseFloat(text, 64)
	}
	if err != nil || !(v >= p.least && v <= p.most) {
		return fmt.Errorf("found %s=%s, want %s", p.Name, short([]byte(text)), p.wants())
	}
	s.numbers[p.Name] = v
	return nil
}

// wants says in words which values a parameter allows.
func (p Parameter) wants() string {
	plainNumber := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	switch p.kind {
	case duration:
		return fmt.Sprintf("a duration with its unit, from %s to %s", toTime(p.least), toTime(p.most))
	case whole:
		return fmt.Sprintf("a whole number from %s to %s", plainNumber(p.least), plainNumber(p.most))
	}
	return fmt.Sprintf("a number from %s to %s", plainNumber(p.least), plainNumber(p.most))
}

// number, whole and time return the value of a setting of that kind.
func (s settings) number(name string) float64     { return s.numbers[name] }
func (s settings) whole(name string) int          { return int(s.numbers[name]) }
func (s settings) time(name string) time.Duration { return toTime(s.numbers[name]) }

// plan is a generator with its settings and seed, ready to start.
type plan struct {
	// expected is about how many messages it makes, to refuse settings that make none or too many.
	expected float64
	// start begins the messages again from the first. The function it returns returns false after the last one.
	start func() func() (Message, bool)
}

// generated reads the messages of a plan.
type generated struct {
	// spec is for error texts, and left the number of messages that may still come.
	spec  string
	next  func() (Message, bool)
	begun bool
	left  int64
}

// Next returns the next message.
func (g *generated) Next() (Message, error) {
	m, ok := g.next()
	switch {
	case !ok && !g.begun:
		return m, noMessage(g.spec)
	case !ok:
		return m, io.EOF
	// The expected number was small enough, but the number that was drawn is not.
	case g.left == 0:
		return Message{}, fmt.Errorf("generate %s: %w", g.spec, tooMany())
	}
	g.begun = true
	g.left--
	return m, nil
}

// noMessage is the error of a specification that makes no message, by its settings or by chance.
func noMessage(spec string) error {
	return fmt.Errorf("generate %s: %w; raise the rate or the duration, or take another seed", spec, ErrEmpty)
}

// piece is a stretch of time with a constant rate of messages.
type piece struct {
	// length is 0 for a piece that is a burst alone.
	length time.Duration
	rate   float64 // per second
	burst  int     // how many more messages are sent at once when it begins
}

// pieces returns one piece after the other, and false after the last one.
type pieces func() (piece, bool)

// once returns the given pieces.
func once(all ...piece) pieces {
	return func() (piece, bool) {
		if len(all) == 0 {
			return piece{}, false
		}
		p := all[0]
		all = all[1:]
		return p, true
	}
}

// within ends the pieces after the given length.
func within(length time.Duration, from pieces) pieces {
	return func() (piece, bool) {
		p, ok := from()
		if !ok || length <= 0 {
			return piece{}, false
		}
		p.length = min(p.length, length)
		length -= p.length
		return p, true
	}
}

// arrivals are the arrivals of a Poisson process whose rate changes from piece to piece, and of the bursts.
//
// A random number says how much of rate x time passes between two messages, and not how much time. So a change of the
// rate moves messages, and draws nothing again: traces with the same seed and different rates can be compared.
type arrivals struct {
	pieces pieces
	random *chance.Stream // nil for arrivals at equal distances
	begin  time.Duration  // of the present piece
	now    piece
	made   int     // arrivals in this piece, at equal distances
	offset float64 // seconds from begin to the last arrival
	wait   float64 // rate x time until the next arrival
}

// newArrivals returns the arrivals in the pieces p; at equal distances when random is nil.
func newArrivals(p pieces, random *chance.Stream) *arrivals {
	a := &arrivals{pieces: p, random: random}
	if random != nil {
		a.wait = random.Exponential()
	}
	return a
}

// next returns the time of the next arrival; false after the last one.
func (a *arrivals) next() (time.Duration, bool) {
	for {
		if a.now.burst > 0 {
			a.now.burst--
			return a.begin, true
		}
		if at, ok := a.within(); ok {
			return a.begin + toTime(at), true
		}
		a.begin += a.now.length
		var ok bool
		if a.now, ok = a.pieces(); !ok {
			return 0, false
		}
		a.offset, a.made = 0, 0
	}
}

// within returns the offset of the next arrival in seconds from the begin of this piece; false when none is left in it.
func (a *arrivals) within() (float64, bool) {
	if a.now.rate <= 0 {
		return 0, false
	}
	length := a.now.length.Seconds()
	if a.random == nil {
		at := float64(a.made) / a.now.rate
		a.made++
		return at, at < length
	}
	// The wait is counted in rate x time, so a faster piece uses it up sooner.
	at := a.offset + a.wait/a.now.rate
	if at < length {
		a.offset, a.wait = at, a.random.Exponential()
		return at, true
	}
	a.wait = max(0, a.wait-float64((length-a.offset)*a.now.rate)) // what this piece has used up
	return 0, false
}
