package queues

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/awsrules/counts"
	"github.com/muster-scale/muster/sim/cloud/account"
)

// Counts says how the visible counts of queues differ from the truth. The zero value shows them exactly and at once.
type Counts struct {
	// Stale is the age of the counts of standard queues, StaleFIFO that of FIFO queues.
	Stale, StaleFIFO time.Duration
	// Approximate is the largest relative error of the counts of standard queues, 0 to 1, drawn for each call. Counts
	// of FIFO queues have none.
	Approximate float64
	// Lost is the share of calls that show a standard queue without any backlog, whatever its backlog is.
	Lost float64
}

// QueueCounts is what a queue holds at an instant.
type QueueCounts struct {
	// Visible is the backlog, NotVisible the messages in flight, Delayed those that are not visible yet.
	Visible, NotVisible, Delayed int
	// OldestAge is the age of the oldest message.
	OldestAge time.Duration
}

// Traffic is what went through a queue. It only grows.
type Traffic struct {
	Sent, Received, Deleted, EmptyReceives int
}

// keptCounts is the number of changes of a queue's counts that are kept, to answer with old ones.
const keptCounts = 4_096

// queueCounts is a queue: what was stated about it, and what CloudWatch knows.
type queueCounts struct {
	name    string
	fifo    bool
	created time.Time
	attrs   map[string]string        // what CreateQueue stated
	history counts.Past[QueueCounts] // never empty
	traffic Traffic
	shown   Traffic   // what CloudWatch has received
	active  time.Time // when it last had a message or a call
	asleep  bool      // it publishes no metrics
	awake   time.Time // when it resumes publishing
}

const (
	// queueSleep is how long a queue without messages and calls goes on publishing metrics. queueWaking is the
	// longest time until they resume; AWS documents both.
	queueSleep  = 6 * time.Hour
	queueWaking = 15 * time.Minute
)

// MaxQueues is the number of queues that an account may have.
const MaxQueues = 1_000

// SQS is the part of the API that shows queues. Methods bear the names of the actions. An error is a *account.Fault.
// It is not safe for concurrent use.
type SQS struct {
	acc     *account.Account
	view    Counts
	publish account.Publish
	queues  map[string]*queueCounts
}

// New returns SQS without queues.
func New(a *account.Account, c Counts, publish account.Publish) *SQS {
	return &SQS{acc: a, view: c, publish: publish, queues: map[string]*queueCounts{}}
}

// SetQueue states what is in a queue now, and what went through it since the last call, which goes into its metrics.
// An unknown queue is an error.
func (w *SQS) SetQueue(name string, c QueueCounts, since Traffic) error {
	q := w.queues[name]
	if q == nil {
		return noQueue()
	}
	q.traffic.Sent += since.Sent
	q.traffic.Received += since.Received
	q.traffic.Deleted += since.Deleted
	q.traffic.EmptyReceives += since.EmptyReceives
	if c.Visible+c.NotVisible+c.Delayed > 0 || since != (Traffic{}) {
		w.touch(q)
	}
	q.history.Add(w.acc.Now().UnixNano(), c)
	q.history.Forget(math.MinInt64, keptCounts)
	return nil
}

// touch records that a queue is in use. A queue that sleeps resumes its metrics after a random time.
func (w *SQS) touch(q *queueCounts) {
	if q.asleep {
		q.asleep = false
		q.awake = w.acc.Now().Add(time.Duration(w.acc.Draw("waking") * float64(queueWaking)))
	}
	q.active = w.acc.Now()
}

// at returns what was in the queue at an instant; before its first counts, those.
func (q *queueCounts) at(t time.Time) QueueCounts {
	seen, ok := q.history.At(t.UnixNano())
	if !ok {
		seen, _ = q.history.First()
	}
	return seen
}

// see returns what a call shows of a queue: old counts, with an error drawn for each of them, and sometimes no
// backlog.
func (w *SQS) see(q *queueCounts) QueueCounts {
	c := w.view
	if q.fifo {
		return q.at(w.acc.Now().Add(-c.StaleFIFO))
	}
	seen := q.at(w.acc.Now().Add(-c.Stale))
	blur := func(n int) int {
		if c.Approximate <= 0 || n == 0 {
			return n
		}
		return counts.Roughly(n, c.Approximate, w.acc.Draw("counts"))
	}
	seen.Visible, seen.NotVisible, seen.Delayed = blur(seen.Visible), blur(seen.NotVisible), blur(seen.Delayed)
	if w.acc.Hit("lost counts", c.Lost) {
		seen.Visible = 0
	}
	return seen
}

// CreateQueueInput is the input of CreateQueue.
type CreateQueueInput struct {
	QueueName  string
	Attributes map[string]string
}

// QueueURL is an answer with, or an input of, the URL of a queue.
type QueueURL struct {
	QueueUrl string
}

// QueueNameInput is the input of GetQueueUrl.
type QueueNameInput struct {
	QueueName              string
	QueueOwnerAWSAccountId string
}

// ListQueuesInput is the input of ListQueues.
type ListQueuesInput struct {
	QueueNamePrefix string
	MaxResults      *int
	NextToken       string
}

// QueueList is its answer.
type QueueList struct {
	QueueUrls []string
	NextToken string
}

// QueueAttributesInput is the input of GetQueueAttributes.
type QueueAttributesInput struct {
	QueueUrl       string
	AttributeNames []string
}

// QueueAttributes is its answer.
type QueueAttributes struct {
	Attributes map[string]string
}

func noQueue() *account.Fault {
	return account.Refuse("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}

// queue finds a queue by its URL on any host: the last part of the path is its name. Any call keeps a queue awake.
func (w *SQS) queue(url string) (*queueCounts, error) {
	q := w.queues[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, noQueue()
	}
	w.touch(q)
	return q, nil
}

// CreateQueue creates an empty queue. An existing queue keeps its attributes.
func (w *SQS) CreateQueue(in CreateQueueInput) (QueueURL, error) {
	base, fifo := strings.CutSuffix(in.QueueName, ".fifo")
	legal := func(r rune) bool {
		return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	switch {
	case base == "" || len(in.QueueName) > 80 || strings.IndexFunc(base, func(r rune) bool { return !legal(r) }) >= 0:
		return QueueURL{}, account.Refuse("InvalidParameterValue",
			"Can only include alphanumeric characters, hyphens, or "+
				"underscores. 1 to 80 in length")
	case fifo != (in.Attributes["FifoQueue"] == "true"):
		return QueueURL{}, account.Refuse("InvalidParameterValue",
			"The name of a FIFO queue, and of no other, ends in .fifo.")
	case w.queues[in.QueueName] == nil && len(w.queues) >= MaxQueues:
		return QueueURL{}, &account.Fault{Code: "OverLimit", Message: "The limit of queues is reached.", Status: 403}
	}
	if w.queues[in.QueueName] == nil {
		q := &queueCounts{name: in.QueueName, fifo: fifo, created: w.acc.Now(), active: w.acc.Now(),
			attrs: map[string]string{}}
		for k, v := range in.Attributes {
			q.attrs[k] = v
		}
		q.history.Add(w.acc.Now().UnixNano(), QueueCounts{})
		w.queues[in.QueueName] = q
	}
	return QueueURL{w.acc.QueueURL(in.QueueName)}, nil
}

// DeleteQueue deletes a queue and everything stated about it.
func (w *SQS) DeleteQueue(in QueueURL) (account.Nothing, error) {
	q, err := w.queue(in.QueueUrl)
	if err != nil {
		return account.Nothing{}, err
	}
	delete(w.queues, q.name)
	return account.Nothing{}, nil
}

// GetQueueUrl finds a queue by its name.
func (w *SQS) GetQueueUrl(in QueueNameInput) (QueueURL, error) {
	q, err := w.queue(in.QueueName)
	if err != nil {
		return QueueURL{}, err
	}
	return QueueURL{w.acc.QueueURL(q.name)}, nil
}

// ListQueues lists queues whose name begins with a prefix. As in the API, pages exist only if MaxResults is given.
func (w *SQS) ListQueues(in ListQueuesInput) (QueueList, error) {
	var all []string
	for _, name := range account.Sorted(w.queues) {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			all = append(all, w.acc.QueueURL(name))
		}
	}
	n := account.Or(in.MaxResults, 1000)
	if n < 1 || n > 1000 {
		return QueueList{}, account.Refuse("InvalidParameterValue",
			"Value %d for parameter MaxResults is invalid. Reason: "+
				"Must be between 1 and 1000, if provided.", n)
	}
	urls, next, err := account.Page(all, in.NextToken, n)
	if in.MaxResults == nil {
		next = ""
	}
	return QueueList{urls, next}, err
}

// GetQueueAttributes returns the attributes that the call names: the counts as an observer sees them, and what the
// queue was created with. As in the API, a call without names gets none.
func (w *SQS) GetQueueAttributes(in QueueAttributesInput) (QueueAttributes, error) {
	q, err := w.queue(in.QueueUrl)
	if err != nil {
		return QueueAttributes{}, err
	}
	seen := w.see(q)
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(seen.Visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(seen.NotVisible),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(seen.Delayed),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.created.Unix(), 10),
		"QueueArn":                              w.acc.ARN("sqs", q.name),
		"DelaySeconds":                          "0", "MaximumMessageSize": "1048576",
		"MessageRetentionPeriod":        "345600",
		"ReceiveMessageWaitTimeSeconds": "0", "VisibilityTimeout": "30",
	}
	for k, v := range q.attrs {
		all[k] = v
	}
	out := QueueAttributes{}
	for _, name := range in.AttributeNames {
		switch v, known := all[name]; {
		case name == "All":
			return QueueAttributes{all}, nil
		case known:
			if out.Attributes == nil {
				out.Attributes = map[string]string{}
			}
			out.Attributes[name] = v
		case !slices.Contains(optionalAttributes(), name):
			return QueueAttributes{}, account.Refuse("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return out, nil
}

// optionalAttributes lists the attributes that a queue may lack. A call may name them and gets no value; any other
// name is an error.
func optionalAttributes() []string {
	return []string{"Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds",
		"SqsManagedSseEnabled",
		"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}
}

// Minute publishes the metrics of AWS/SQS of every queue that is awake. The world calls it once a minute.
func (w *SQS) Minute() {
	for _, name := range account.Sorted(w.queues) {
		q := w.queues[name]
		c := q.at(w.acc.Now())
		if c.Visible+c.NotVisible+c.Delayed > 0 {
			w.touch(q)
		}
		if !w.acc.Now().Before(q.active.Add(queueSleep)) {
			q.asleep = true
		}
		if q.asleep || w.acc.Now().Before(q.awake) {
			q.shown = q.traffic
			continue
		}
		put := func(metric string, v float64) {
			w.publish("AWS/SQS", metric, v, "QueueName", name)
		}
		put("ApproximateNumberOfMessagesVisible", float64(c.Visible))
		put("ApproximateNumberOfMessagesNotVisible", float64(c.NotVisible))
		put("ApproximateNumberOfMessagesDelayed", float64(c.Delayed))
		put("ApproximateAgeOfOldestMessage", c.OldestAge.Seconds())
		put("NumberOfMessagesSent", float64(q.traffic.Sent-q.shown.Sent))
		put("NumberOfMessagesReceived", float64(q.traffic.Received-q.shown.Received))
		put("NumberOfMessagesDeleted", float64(q.traffic.Deleted-q.shown.Deleted))
		put("NumberOfEmptyReceives", float64(q.traffic.EmptyReceives-q.shown.EmptyReceives))
		q.shown = q.traffic
	}
}
