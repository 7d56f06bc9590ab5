package board

import (
	"time"

	"github.com/muster-scale/muster"
	"github.com/muster-scale/muster/controller/audit"
	"github.com/muster-scale/muster/internal/joblog"
	"github.com/muster-scale/muster/server"
	"github.com/muster-scale/muster/tree"
)

// This file has the answers of the routes as types; docs/api.md explains them. Fields may be added; readers ignore
// unknown ones. Durations are in seconds, costs in the currency of the configured price.

// Board is the answer of GET /v1/board, and the first event of the stream: all fleets at one time.
type Board struct {
	At time.Time `json:"at"`
	// Cursor is the position in the stream that this state includes.
	Cursor  string `json:"cursor"`
	Version string `json:"version"`
	// Fleets are sorted by name.
	Fleets []Row  `json:"fleets"`
	Totals Totals `json:"totals"`
	// Faults are the problems that concern no single fleet.
	Faults        []string `json:"faults"`
	OpenIncidents int      `json:"open_incidents"`
}

// Totals are sums over all fleets. A sum is unknown if it is unknown of a fleet; a cost is that of the fleets with a
// price.
type Totals struct {
	Desired     Number `json:"desired"`
	InService   Number `json:"in_service"`
	Backlog     Number `json:"backlog"`
	CostPerHour Number `json:"cost_per_hour"`
	// InTime is the share in time of the messages of the last hour, over the fleets where it is known.
	InTime Number `json:"in_time"`
}

// State says in a word how a fleet does.
type State string

// The states, from good to bad.
const (
	// Meeting: messages are in time, and are expected to be.
	Meeting State = "meeting"
	// AtRisk: messages are in time now, and will be late unless something changes.
	AtRisk State = "at_risk"
	// Paused: an operator's instruction keeps the size.
	Paused State = "paused"
	// Missing: messages are late, or more of the last hour's messages were late than the objective allows.
	Missing State = "missing"
	// Failing: most attempts fail, or launched workers do not start.
	Failing State = "failing"
	// Blind: a signal that sizing needs is unknown.
	Blind State = "blind"
	// NotSized: the fleet does not run, or cannot be sized as configured.
	NotSized State = "not_sized"
)

// Row is one fleet in [Board]. Its fields are what a list shows and what charts append.
type Row struct {
	Name string `json:"name"`
	// State is how the fleet does, and Why says in words from which numbers that follows.
	State State  `json:"state"`
	Why   string `json:"why"`
	Phase string `json:"phase"`
	// Trouble says why the fleet is not sized, or not as configured; empty otherwise.
	Trouble string `json:"trouble"`

	ObjectiveSeconds Number `json:"objective_s"`
	Quantile         Number `json:"quantile"`
	// OldestSeconds is the age of the oldest message that waits, also for its retry.
	OldestSeconds Number `json:"oldest_age_s"`
	// InTime is the share in time, 0 to 1, of the Ended messages of the last hour.
	InTime Number `json:"in_time"`
	Ended  Number `json:"ended_last_hour"`
	Late   Number `json:"late"`
	// ExpectedSeconds and ExpectedInTime are for a message that arrives now, if the size stays as it is.
	ExpectedSeconds Number `json:"expected_s"`
	ExpectedInTime  Number `json:"expected_in_time"`

	Backlog     Number `json:"backlog"`
	InFlight    Number `json:"in_flight"`
	Delayed     Number `json:"delayed"`
	Working     Number `json:"working"`
	Retrying    Number `json:"retrying"`
	DeadLetters Number `json:"dead_letters"`
	// Arriving is the rate of the last minute in messages per second.
	Arriving Number `json:"arriving_per_s"`
	// Finished and Failed count messages and attempts of the last five minutes.
	Finished Number `json:"finished_lately"`
	Failed   Number `json:"failed_lately"`

	Min       Number `json:"min"`
	Max       Number `json:"max"`
	Desired   Number `json:"desired"`
	InService Number `json:"in_service"`
	Busy      Number `json:"busy"`
	Idle      Number `json:"idle"`
	Pending   Number `json:"pending"`
	Draining  Number `json:"draining"`
	Lost      Number `json:"lost"`
	// AtMax says that the policy recommends more than the maximum.
	AtMax bool `json:"at_max"`

	P50Seconds Number `json:"processing_p50_s"`
	P95Seconds Number `json:"processing_p95_s"`
	// PerWorker is the backlog per worker in service, and Acceptable the one at which messages are just in time.
	PerWorker  Number `json:"per_worker"`
	Acceptable Number `json:"acceptable_per_worker"`
	// Utilization is the total work per slot in service, and UtilizationTarget what the policy keeps, if it does.
	Utilization       Number `json:"utilization"`
	UtilizationTarget Number `json:"utilization_target"`
	// CostPerHour is the cost of the desired count, and PricePerHour that of one worker.
	CostPerHour  Number `json:"cost_per_hour"`
	PricePerHour Number `json:"price_per_hour"`

	// Overrides are the instructions of operators in words, one a line, also those that have not begun.
	Overrides string `json:"overrides"`
	Decision  Short  `json:"decision"`
}

// Short is a decision in a list.
type Short struct {
	// ID is FLEET/EPOCH.SEQ, the record of the decision in the history; empty until one was recorded. A decision that
	// repeats the one before is recorded once a minute, so the record may be of a moment earlier.
	ID string `json:"id"`
	// At is when the decision was made; in a [Row] it is since when verdict, reason and desired count are the same.
	At       time.Time      `json:"at,omitzero"`
	Fleet    string         `json:"fleet"`
	Policy   string         `json:"policy"`
	Previous int            `json:"previous"`
	Wish     int            `json:"wish"`
	Desired  int            `json:"desired"`
	Verdict  muster.Verdict `json:"verdict"`
	Reason   muster.Reason  `json:"reason"`
	Sentence string         `json:"sentence"`
}

// Change is the data of the event "change": the fields that changed, by fleet.
type Change struct {
	At time.Time `json:"at"`
	// Fleets have the field name and the changed fields of a [Row].
	Fleets []map[string]any `json:"fleets"`
	// Gone are the names of fleets that are no longer configured.
	Gone []string `json:"gone"`
	// Totals are present when they changed.
	Totals *Totals `json:"totals,omitzero"`
}

// Since is the answer of GET /v1/board?since=CURSOR: the events since the cursor or, if that is too old, the board.
type Since struct {
	At     time.Time `json:"at"`
	Cursor string    `json:"cursor"`
	Board  *Board    `json:"board,omitzero"`
	Events []Sent    `json:"events"`
}

// Sent is an event of the stream in [Since].
type Sent struct {
	ID    string `json:"id"`
	Event string `json:"event"`
	Data  any    `json:"data"`
}

// Detail is the answer of GET /v1/fleets/NAME.
type Detail struct {
	At  time.Time `json:"at"`
	Row Row       `json:"row"`
	// Status is the fleet as in GET /v1/status: the observation, the decision with its trail, the members.
	Status server.FleetStatus `json:"status"`
	// Explanation says why the decision has its number and what would change it; absent before the first one.
	Explanation *Explanation `json:"explanation,omitzero"`
	// Failures are the last failed attempts that workers of this machine logged, newest first.
	Failures    []joblog.Record `json:"failures"`
	DeadLetters []DeadLetters   `json:"dead_letters"`
	Trees       []Tree          `json:"trees"`
}

// DeadLetters is a dead-letter queue in [Detail].
type DeadLetters struct {
	Queue string `json:"queue"`
	// Source is the queue that the messages come from. Messages is unknown for a queue on Amazon SQS.
	Source   string `json:"source"`
	Messages Number `json:"messages"`
	// Reasons are the newest messages with the error of their last attempt, if a worker of this machine logged it; they
	// hold no body.
	Reasons []DeadReason `json:"reasons"`
}

// DeadReason is one message in [DeadLetters].
type DeadReason struct {
	Message  string          `json:"message"`
	Sent     time.Time       `json:"sent"`
	Receives int             `json:"receives"`
	Failure  *joblog.Failure `json:"failure,omitzero"`
}

// Tree is one running tree in [Detail] and [Trees].
type Tree struct {
	Root        string         `json:"root"`
	Queue       string         `json:"queue"`
	State       tree.RootState `json:"state"`
	Reason      string         `json:"reason"`
	SubmittedAt time.Time      `json:"submitted_at"`
	Created     int64          `json:"created"`
	Done        int64          `json:"done"`
	Failed      int64          `json:"failed"`
	Waiting     int64          `json:"waiting"`
	Out         int64          `json:"out"`
	// Expected estimates the nodes in all; unknown while a depth has open nodes and no finished one.
	Expected Number `json:"expected"`
	// PerSecond is the recent rate of settled nodes, and LeftSeconds how long the rest takes at it.
	PerSecond   Number  `json:"per_s"`
	LeftSeconds Number  `json:"left_s"`
	Depths      []Depth `json:"depths"`
}

// Depth counts the nodes of one depth of a [Tree].
type Depth struct {
	Depth   int   `json:"depth"`
	Created int64 `json:"created"`
	Done    int64 `json:"done"`
	Failed  int64 `json:"failed"`
	Open    int64 `json:"open"`
}

// Trees is the answer of GET /v1/trees.
type Trees struct {
	At    time.Time `json:"at"`
	Trees []Tree    `json:"trees"`
	// Unknown says why trees could not be read; empty if they could.
	Unknown string `json:"unknown"`
}

// Logs is the answer of GET /v1/fleets/NAME/logs: the newest selected records, the oldest of them first.
type Logs struct {
	Records []joblog.Record `json:"records"`
	// Cut says that older records were left out.
	Cut bool `json:"cut"`
}

// Decisions is the answer of GET /v1/fleets/NAME/decisions and of GET /v1/board/decisions, newest first.
type Decisions struct {
	Decisions []Short `json:"decisions"`
	// Next is the value of before= for the decisions that follow; empty at the end.
	Next string `json:"next"`
	// Cut says that older decisions of all fleets were not searched.
	Cut bool `json:"cut,omitzero"`
}

// OneDecision is the answer of GET /v1/decisions/FLEET/EPOCH.SEQ.
type OneDecision struct {
	ID     string                `json:"id"`
	Record server.DecisionRecord `json:"record"`
	// Explanation is computed from the record again.
	Explanation Explanation `json:"explanation"`
}

// Explanation is the part of an [audit.Explanation] that is not in the decision itself.
type Explanation struct {
	// Why is the decision in one sentence, and WhyNotMore what keeps the size from being larger.
	Why        string `json:"why"`
	WhyNotMore string `json:"why_not_more"`
	// Changes are the nearest larger and smaller backlogs with another size.
	Changes []audit.Change `json:"changes"`
}

// explanationOf shortens an explanation.
func explanationOf(e audit.Explanation) Explanation {
	return Explanation{e.Why, e.WhyNotMore, e.Changes}
}

// Series is the answer of GET /v1/fleets/NAME/series: curves by column, with one value for each time. A gap is null.
type Series struct {
	Fleet string    `json:"fleet"`
	From  time.Time `json:"from"`
	To    time.Time `json:"to"`
	// StepSeconds is the width of one value. At are the starts of the values, in seconds since 1970.
	StepSeconds float64             `json:"step_s"`
	At          []int64             `json:"at"`
	Columns     map[string][]Number `json:"columns"`
	// Decisions are those of the window that changed the size, oldest first; Cut says that older ones were left out.
	Decisions []Short `json:"decisions"`
	Cut       bool    `json:"cut"`
}

// Curves is the answer of GET /v1/curves: a few columns of many fleets, at the same times.
type Curves struct {
	From        time.Time                      `json:"from"`
	StepSeconds float64                        `json:"step_s"`
	Fleets      map[string]map[string][]Number `json:"fleets"`
}

// Configuration is the answer of GET /v1/configuration.
type Configuration struct {
	// File is the configuration file; empty if Muster runs without one.
	File string `json:"file"`
	// Values are the effective values, in the order of the reference.
	Values []Value `json:"values"`
	// Waiting are the keys of the file that take effect at the next start. Before is the value in force.
	Waiting []Changed `json:"waiting"`
	// LastReload is the result of the last reload; absent before the first.
	LastReload *Reload `json:"last_reload,omitzero"`
	// Reloads are the last reloads since the start, newest first.
	Reloads []Reload `json:"reloads"`
	// Faults are why the last reload was refused; the values are then those of the configuration before.
	Faults []string `json:"faults"`
}

// Value is one key of a [Configuration].
type Value struct {
	// Path is the key with those around it, as in fleets[0].objective.latency.
	Path  string `json:"path"`
	Value string `json:"value"`
	// Source is "file" or "default". Line is the line in the file, from 1; 0 for a default.
	Source string `json:"source"`
	Line   int    `json:"line"`
}

// Reload is the result of a reload in [Configuration].
type Reload struct {
	At time.Time `json:"at"`
	OK bool      `json:"ok"`
	// Said is what changed, or why nothing did.
	Said string `json:"said"`
	// Changes are the values that the reload changed, at most 100.
	Changes []Changed `json:"changes"`
}

// Changed is a key whose value changed.
type Changed struct {
	// Path is the key. An entry of a list that has a name is named by it, as in fleets[thumbs].max.
	Path string `json:"path"`
	// Before and After are the values; empty where the key did not stand.
	Before string `json:"before"`
	After  string `json:"after"`
	// Line is the line of the value after, from 1; 0 for a default.
	Line int `json:"line"`
}
