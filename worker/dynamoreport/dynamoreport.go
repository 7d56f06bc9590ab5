package dynamoreport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/muster-scale/muster/internal/attribute"
	"github.com/muster-scale/muster/roster"
	"github.com/muster-scale/muster/worker"
	"github.com/muster-scale/muster/worker/protocol"
)

// The attributes of an entry.
const (
	attributeFleet   = "fleet"
	attributeWorker  = "worker"
	attributeSeq     = "seq"
	attributeStarted = "started_ms"
	attributeExpires = "expires"
	attributeReport  = "report"
)

const (
	// MaxReport bounds the report in an entry, in bytes of JSON; DynamoDB charges a write for each 1,024 bytes of an
	// entry. A larger report is stored without its classes.
	MaxReport = 64 << 10
	// Keep is how long after its last report the entry of a worker expires. DynamoDB removes it some time later.
	Keep = time.Hour
	// MaxEntries bounds the entries that one [Table.Read] returns.
	MaxEntries = 10_000
	// MaxPages bounds the pages, of a megabyte each, that it reads.
	MaxPages = 100
)

// API is what a [Table] needs of the client. [*dynamodb.Client] implements it.
type API interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// Table is a [worker.Sink] that writes reports to a table, and reads them back. Several goroutines may use it.
type Table struct {
	api  API
	name string
}

// New returns the table with a name of 3 to 255 letters, digits, hyphens, underscores and dots. It makes no call yet.
// The role of a worker needs dynamodb:PutItem, that of a reader dynamodb:Query.
func New(api API, name string) (*Table, error) {
	if !nameAllowed(name) {
		return nil, fmt.Errorf("report to DynamoDB: found the table %.40q, allowed are 3 to 255 letters, digits, "+
			"hyphens, underscores and dots", name)
	}
	return &Table{api, name}, nil
}

func nameAllowed(name string) bool {
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return false
		}
	}
	return len(name) >= 3 && len(name) <= 255
}

// Entry is the stored state of a worker.
type Entry struct {
	// Report is the worker's last report, of the time SentAt by the worker's clock. The reader sets its At. Its counts
	// are those since the worker started.
	Report protocol.Report
	// Started is when the worker started, by its own clock. A restart begins the counts anew.
	Started time.Time
}

// Since returns the report of e with the counts since an earlier entry of the same worker. It returns all counts when
// the earlier entry is the zero Entry or the worker was restarted since.
func (e Entry) Since(before Entry) protocol.Report {
	r := e.Report
	if before.Report.Worker != r.Worker || before.Report.Member != r.Member || !before.Started.Equal(e.Started) {
		return r
	}
	more := counts(r).Less(counts(before.Report))
	r.Finished, r.Failed, r.Processing, r.Classes = more.Finished, more.Failed, more.Processing, more.Classes
	r.Failing = more.Failing
	return r
}

func counts(r protocol.Report) worker.Counts {
	return worker.Counts{Finished: r.Finished, Failed: r.Failed, Processing: r.Processing, Failing: r.Failing,
		Classes: r.Classes}
}

// Take implements [worker.Sink].
func (t *Table) Take(ctx context.Context, d worker.Digest) error {
	r := d.Report
	r.Finished, r.Failed, r.Processing, r.Classes = d.Total.Finished, d.Total.Failed, d.Total.Processing,
		d.Total.Classes
	r.Failing = d.Total.Failing
	text, err := encode(r)
	if err != nil {
		return err
	}
	_, err = t.api.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: &t.name,
		Item: attribute.Element{
			attributeFleet:   attribute.Text(r.Fleet),
			attributeWorker:  attribute.Text(sortKey(r)),
			attributeSeq:     attribute.Number(r.Seq),
			attributeStarted: attribute.Number(d.Started.UnixMilli()),
			attributeExpires: attribute.Number(r.SentAt.Add(Keep).Unix()),
			attributeReport:  attribute.Text(string(text)),
		},
		ConditionExpression:       aws.String("attribute_not_exists(#w) OR #n < :n"),
		ExpressionAttributeNames:  map[string]string{"#w": attributeWorker, "#n": attributeSeq},
		ExpressionAttributeValues: attribute.Element{":n": attribute.Number(r.Seq)},
	})
	if _, newer := errors.AsType[*types.ConditionalCheckFailedException](err); newer {
		return nil // this report came late or twice
	}
	return t.failed("put the report of "+r.Worker+" into", err)
}

// sortKey identifies a worker within its fleet. Quoting makes it unique: no two pairs of member and worker share a key.
func sortKey(r protocol.Report) string { return strconv.Quote(r.Member) + strconv.Quote(r.Worker) }

// encode returns the report as JSON, without its classes if they make it too large.
func encode(r protocol.Report) ([]byte, error) {
	text, err := json.Marshal(r)
	if err == nil && len(text) > MaxReport {
		r.Classes = nil
		text, err = json.Marshal(r)
	}
	if err == nil && len(text) > MaxReport {
		err = fmt.Errorf("found %d bytes, allowed are %d", len(text), MaxReport)
	}
	if err != nil {
		return nil, fmt.Errorf("encode the report of %s: %w", r.Worker, err)
	}
	return text, nil
}

func (t *Table) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s the table %s of DynamoDB: %w", what, t.name, err)
}

// Read returns the entries of a fleet that have not expired at now, by member and worker. It leaves out invalid
// entries: the error names them, and the result has the valid ones.
func (t *Table) Read(ctx context.Context, fleet string, now time.Time) ([]Entry, error) {
	return t.read(ctx, fleet, now, func(context.Context) error { return nil })
}

// read is Read with a function that waits before each page, for a rate limit.
func (t *Table) read(ctx context.Context, fleet string, now time.Time,
	may func(context.Context) error) (entries []Entry, err error) {
	in := &dynamodb.QueryInput{
		TableName: &t.name, ConsistentRead: aws.Bool(true),
		KeyConditionExpression:    aws.String("#f = :f"),
		ExpressionAttributeNames:  map[string]string{"#f": attributeFleet},
		ExpressionAttributeValues: attribute.Element{":f": attribute.Text(fleet)},
	}
	var wrong []error
	for range MaxPages {
		if err := may(ctx); err != nil {
			return nil, t.failed("read the reports in", err)
		}
		page, err := t.api.Query(ctx, in)
		if err != nil {
			return nil, t.failed("read the reports in", err)
		}
		for _, stored := range page.Items {
			e, expires, err := decode(stored)
			switch {
			case err != nil:
				wrong = append(wrong, err)
			case expires.After(now) && e.Report.Fleet == fleet:
				entries = append(entries, e)
			}
		}
		if len(entries)+len(wrong) > MaxEntries {
			return nil, fmt.Errorf("read the reports in the table %s of DynamoDB: the fleet %s has more than %d "+
				"workers, the limit", t.name, fleet, MaxEntries)
		}
		if len(page.LastEvaluatedKey) == 0 {
			return entries, t.failed("read the reports in", someOf(wrong))
		}
		in.ExclusiveStartKey = page.LastEvaluatedKey
	}
	return nil, fmt.Errorf("read the reports in the table %s of DynamoDB: the fleet %s has more than %d pages, the "+
		"limit", t.name, fleet, MaxPages)
}

// maxTold bounds the invalid entries that an error names.
const maxTold = 5

// someOf joins the first errors, and counts the others.
func someOf(wrong []error) error {
	if more := len(wrong) - maxTold; more > 0 {
		wrong = append(slices.Clone(wrong[:maxTold]), fmt.Errorf("and %d more", more))
	}
	return errors.Join(wrong...)
}

// decode reads an entry and checks its report.
func decode(stored attribute.Element) (e Entry, expires time.Time, err error) {
	name := attribute.TextOf(stored[attributeWorker])
	started, errStarted := attribute.NumberOf(stored[attributeStarted])
	until, errExpires := attribute.NumberOf(stored[attributeExpires])
	if err := errors.Join(errStarted, errExpires); err != nil {
		return e, expires, fmt.Errorf("the entry of %.100s: %w", name, err)
	}
	report := attribute.TextOf(stored[attributeReport])
	if len(report) > MaxReport {
		return e, expires, fmt.Errorf("the entry of %.100s: found a report of %d bytes, allowed are %d", name,
			len(report), MaxReport)
	}
	if err := json.Unmarshal([]byte(report), &e.Report); err != nil {
		return e, expires, fmt.Errorf("the entry of %.100s: read its report: %w", name, err)
	}
	if err := roster.Check(e.Report); err != nil {
		return e, expires, fmt.Errorf("the entry of %.100s: %w", name, err)
	}
	e.Started = time.UnixMilli(started).UTC()
	return e, time.Unix(until, 0), nil
}
