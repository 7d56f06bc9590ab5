package incident

import (
	"cmp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/muster-scale/muster"
)

// Kind says what an incident is about. Kinds are few and stable, so that channels and metrics can select them.
type Kind string

// The kinds of incidents. [Rules] says when each opens and ends.
const (
	// ActionFailed: the last action on a fleet failed or was refused, such as setting its size.
	ActionFailed Kind = "action_failed"
	// SignalUnknown: the backlog of a queue, or the members of a fleet, cannot be read.
	SignalUnknown Kind = "signal_unknown"
	// AtMaximum: the fleet is at its maximum, and messages are late or will be.
	AtMaximum Kind = "at_maximum"
	// LaunchesLimited: the launches of an hour or the budget are used up, and messages are late or will be.
	LaunchesLimited Kind = "launches_limited"
	// AllFailing: attempts fail, and no message was finished lately.
	AllFailing Kind = "all_failing"
	// CrashLoop: members end before they are of use, again and again.
	CrashLoop Kind = "crash_loop"
	// DeadLetters: a dead-letter queue grows.
	DeadLetters Kind = "dead_letters"
	// Contested: another controller sizes the fleet too.
	Contested Kind = "contested"
	// EndpointAway: nothing listens at the endpoint that does the work.
	EndpointAway Kind = "endpoint_away"
	// WorkerTrouble: a worker reports another problem, such as a lost lease.
	WorkerTrouble Kind = "worker_trouble"
	// FleetStopped: the fleet is not sized, or not as configured.
	FleetStopped Kind = "fleet_stopped"
	// HistoryStuck: decisions cannot be recorded, so nothing is done.
	HistoryStuck Kind = "history_stuck"
	// HistoryDamaged: the history was damaged and was replaced.
	HistoryDamaged Kind = "history_damaged"
	// QueueDamaged: messages of an embedded queue were set aside because their content is damaged, or the queue cannot
	// be written.
	QueueDamaged Kind = "queue_damaged"
	// ConfigurationInvalid: a changed configuration was not applied.
	ConfigurationInvalid Kind = "configuration_invalid"
	// ConnectionsRefused: the servers cannot accept connections.
	ConnectionsRefused Kind = "connections_refused"
	// EventsUnreachable: a queue of events cannot be received.
	EventsUnreachable Kind = "events_unreachable"
)

const (
	// MaxSentence bounds a sentence, in bytes.
	MaxSentence = 500
	// MaxStanding bounds the conditions that a [Tracker] watches at once. Later ones wait until others have ended.
	MaxStanding = 1000
	// MaxRecent bounds the incidents that a [Tracker] keeps after their end, the newest.
	MaxRecent = 200
)

// Condition is something wrong that is present at one time.
type Condition struct {
	Kind Kind `json:"kind"`
	// Fleet is empty for what concerns no single fleet.
	Fleet string `json:"fleet,omitzero"`
	// Subject tells conditions of one kind and fleet apart, such as the name of a queue; often empty.
	Subject string `json:"subject,omitzero"`
	// Sentence describes it for a person, on one line of at most [MaxSentence] bytes.
	Sentence string `json:"sentence"`
	// Command shows more, such as "muster explain thumbs".
	Command string `json:"command"`
	// Evidence holds the numbers behind the sentence.
	Evidence []muster.Value `json:"evidence,omitzero"`
}

// key identifies the incident that a condition belongs to.
type key struct {
	kind           Kind
	fleet, subject string
}

func (c Condition) key() key { return key{c.Kind, c.Fleet, c.Subject} }

// compare orders conditions by fleet, kind and subject.
func (k key) compare(other key) int {
	return cmp.Or(cmp.Compare(k.fleet, other.fleet), cmp.Compare(k.kind, other.kind),
		cmp.Compare(k.subject, other.subject))
}

// Incident is a condition from its beginning to its end. While it is open, sentence and evidence are the newest ones.
type Incident struct {
	// ID is unique: it holds the kind, the fleet, the subject and the beginning.
	ID string `json:"id"`
	Condition
	// BeganAt is when its condition was first present; OpenedAt is when it had stood long enough to be told.
	BeganAt  time.Time `json:"began_at"`
	OpenedAt time.Time `json:"opened_at"`
	// EndedAt is when its condition was last present; zero while the incident is open.
	EndedAt time.Time `json:"ended_at,omitzero"`
}

// Open tells whether the incident has not ended.
func (i Incident) Open() bool { return i.EndedAt.IsZero() }

// idOf returns the id of an incident of c that began at a time.
func idOf(c Condition, began time.Time) string {
	parts := []string{string(c.Kind)}
	for _, part := range []string{c.Fleet, c.Subject} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(append(parts, began.UTC().Format("20060102T150405.000Z")), "/")
}

// Event says what a notice tells of its incident.
type Event string

// The events.
const (
	// Opened and Ended are told once for each incident.
	Opened Event = "opened"
	Ended  Event = "ended"
	// Test is a notice without an incident, that a person asked for.
	Test Event = "test"
)

// Notice tells that an incident opened or ended. Its fields are the body that channels send as JSON: docs/notices.md
// describes them.
type Notice struct {
	// ID is that of the incident with the event. A notice that is sent twice, because an answer was lost, has the same.
	ID    string    `json:"id"`
	Event Event     `json:"event"`
	At    time.Time `json:"at"`
	// Host is the machine that Muster runs on.
	Host string `json:"host"`
	// Text is the whole notice in one line for a person.
	Text     string   `json:"text"`
	Incident Incident `json:"incident"`
}

// newNotice returns the notice of an event of i at a time.
func newNotice(i Incident, e Event, at time.Time) Notice {
	return Notice{ID: i.ID + "/" + string(e), Event: e, At: at, Incident: i}
}

// From returns n as sent from a host, with its text.
func (n Notice) From(host string) Notice {
	n.Host = Line(host, 100)
	what := n.Incident.Sentence
	if n.Event == Ended {
		what = "ended: " + what + " (" + span(n.Incident.EndedAt.Sub(n.Incident.BeganAt)) + " in all)"
	}
	n.Text = "Muster on " + n.Host + ": " + what
	if n.Incident.Command != "" {
		n.Text += ". See: " + n.Incident.Command
	}
	return n
}

// NewTest returns a test notice.
func NewTest(at time.Time) Notice {
	i := Incident{ID: "test/" + at.UTC().Format("20060102T150405.000Z"), BeganAt: at, OpenedAt: at,
		Condition: Condition{Kind: "test", Sentence: "this is a test notice: nothing is wrong",
			Command: "muster incidents"}}
	return newNotice(i, Test, at)
}

// Line returns text as one line of visible characters, of at most most bytes; longer text ends with "...".
func Line(text string, most int) string {
	text = strings.Join(strings.FieldsFunc(text, func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsGraphic(c) || c == utf8.RuneError
	}), " ")
	if len(text) <= most {
		return text
	}
	cut := max(0, most-3)
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strings.TrimRight(text[:cut], " ") + "..."
}
