package cloud

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Counts say how the counts of queues look from outside. The zero value shows them exactly and at once.
type Counts struct {
	// Stale is how old the counts of standard queues are, StaleFIFO those of FIFO queues.
	Stale, StaleFIFO time.Duration
	// Approximate is the largest relative error of the counts of standard queues, 0 to 1, drawn at each look. Counts of
	// FIFO queues have none.
	Approximate float64
	// Lost is the share of looks at a standard queue that show nothing of a backlog: 0 where there is more.
	Lost float64
}

// QueueCounts are the messages of a queue.
type QueueCounts struct {
	// Visible is the backlog, NotVisible what is in flight, Delayed what is not yet visible.
	Visible, NotVisible, Delayed int
	// OldestAge is the age of the oldest message.
	OldestAge time.Duration
}

// Traffic is what went through a queue; it only adds up.
type Traffic struct {
	Sent, Received, Deleted, EmptyReceives int
}

// keptCounts is how many changes of a queue's counts are remembered, for looks that are stale.
const keptCounts = 4_096

// queueCounts is a queue.
type queueCounts struct {
	name    string
	fifo    bool
	created time.Time
	attrs   map[string]string
	history []countsAt // oldest first; never empty
	traffic Traffic
	shown   Traffic // what CloudWatch was told last
	active  time.Time
	asleep  bool
	awake   time.Time // from then on its metrics are published again
}

type countsAt struct {
	at     time.Time
	counts QueueCounts
}

// sleep is how long a queue without messages and calls goes on publishing metrics; waking is the longest time until
// they come back.
const (
	queueSleep  = 6 * time.Hour
	queueWaking = 15 * time.Minute
)

// SQS is the part of the SQS API that looks at queues. Messages themselves are no part of the model: SetQueue says how
// many there are. Methods bear the names of the actions; errors are a *Fault.
type SQS struct{ w *World }

// SQS is the API of SQS in this world.
func (w *World) SQS() SQS { return SQS{w} }

// SetQueue says what is in a queue now. Receives and deletes are what happened since the last call; they go into
// CloudWatch. The last 4,096 changes are remembered for looks that are stale.
func (w *World) SetQueue(name string, c QueueCounts, since Traffic) error {
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
	if last := &q.history[len(q.history)-1]; last.at.Equal(w.now) {
		last.counts = c
		return nil
	}
	if q.history = append(q.history, countsAt{w.now, c}); len(q.history) > keptCounts {
		q.history = slices.Delete(q.history, 0, len(q.history)-keptCounts)
	}
	return nil
}

// touch notes that a queue is in use.
func (w *World) touch(q *queueCounts) {
	if q.asleep {
		q.asleep = false
		q.awake = w.now.Add(time.Duration(w.draw("waking") * float64(queueWaking)))
	}
	q.active = w.now
}

// at is what is in the queue at an instant: its newest counts that are not after it, or its first.
func (q *queueCounts) at(t time.Time) QueueCounts {
	k, found := slices.BinarySearchFunc(q.history, t, func(c countsAt, t time.Time) int { return c.at.Compare(t) })
	if !found {
		k = max(k-1, 0)
	}
	return q.history[k].counts
}

// see is what a call sees of a queue.
func (w *World) see(q *queueCounts) QueueCounts {
	c := w.settings.Counts
	if q.fifo {
		return q.at(w.now.Add(-c.StaleFIFO))
	}
	seen := q.at(w.now.Add(-c.Stale))
	blur := func(n int) int {
		if c.Approximate <= 0 || n == 0 {
			return n
		}
		return max(int(math.Round(float64(n)*(1+c.Approximate*(2*w.draw("counts")-1)))), 0)
	}
	seen.Visible, seen.NotVisible, seen.Delayed = blur(seen.Visible), blur(seen.NotVisible), blur(seen.Delayed)
	if w.hit("lost counts", c.Lost) {
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

func noQueue() *Fault {
	return fault("AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist.")
}

func (w *World) queueURL(name string) string {
	return "https://sqs." + w.settings.Region + ".amazonaws.com/" + w.settings.Account + "/" + name
}

// queue finds a queue by its URL, of whatever host: the last part of the path is its name.
func (w *World) queue(url string) (*queueCounts, error) {
	q := w.queues[url[strings.LastIndexByte(url, '/')+1:]]
	if q == nil {
		return nil, noQueue()
	}
	w.touch(q)
	return q, nil
}

// CreateQueue makes an empty queue. One that exists stays as it is.
func (s SQS) CreateQueue(in CreateQueueInput) (QueueURL, error) {
	base, fifo := strings.CutSuffix(in.QueueName, ".fifo")
	legal := func(r rune) bool {
		return r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
	}
	switch {
	case base == "" || len(in.QueueName) > 80 || strings.IndexFunc(base, func(r rune) bool { return !legal(r) }) >= 0:
		return QueueURL{}, fault("InvalidParameterValue", "Can only include alphanumeric characters, hyphens, or "+
			"underscores. 1 to 80 in length")
	case fifo != (in.Attributes["FifoQueue"] == "true"):
		return QueueURL{}, fault("InvalidParameterValue", "The name of a FIFO queue, and of no other, ends in .fifo.")
	case s.w.queues[in.QueueName] == nil && len(s.w.queues) >= MaxQueues:
		return QueueURL{}, &Fault{Code: "OverLimit", Message: "The limit of queues is reached.", Status: 403}
	}
	if s.w.queues[in.QueueName] == nil {
		q := &queueCounts{name: in.QueueName, fifo: fifo, created: s.w.now, active: s.w.now, attrs: map[string]string{}}
		for k, v := range in.Attributes {
			q.attrs[k] = v
		}
		q.history = []countsAt{{s.w.now, QueueCounts{}}}
		s.w.queues[in.QueueName] = q
	}
	return QueueURL{s.w.queueURL(in.QueueName)}, nil
}

// DeleteQueue removes a queue.
func (s SQS) DeleteQueue(in QueueURL) (Nothing, error) {
	q, err := s.w.queue(in.QueueUrl)
	if err != nil {
		return Nothing{}, err
	}
	delete(s.w.queues, q.name)
	return Nothing{}, nil
}

// GetQueueUrl finds a queue by its name.
func (s SQS) GetQueueUrl(in QueueNameInput) (QueueURL, error) {
	q, err := s.w.queue(in.QueueName)
	if err != nil {
		return QueueURL{}, err
	}
	return QueueURL{s.w.queueURL(q.name)}, nil
}

// ListQueues lists the queues whose name has a prefix. There are pages only for who asks for MaxResults.
func (s SQS) ListQueues(in ListQueuesInput) (QueueList, error) {
	var all []string
	for _, name := range sorted(s.w.queues) {
		if strings.HasPrefix(name, in.QueueNamePrefix) {
			all = append(all, s.w.queueURL(name))
		}
	}
	n := or(in.MaxResults, 1000)
	if n < 1 || n > 1000 {
		return QueueList{}, fault("InvalidParameterValue", "Value %d for parameter MaxResults is invalid. Reason: "+
			"Must be between 1 and 1000, if provided.", n)
	}
	urls, next, err := page(all, in.NextToken, n)
	if in.MaxResults == nil {
		next = ""
	}
	return QueueList{urls, next}, err
}

// GetQueueAttributes shows attributes of a queue: its counts as they look from outside, and what it was made with. No
// names give no attributes.
func (s SQS) GetQueueAttributes(in QueueAttributesInput) (QueueAttributes, error) {
	q, err := s.w.queue(in.QueueUrl)
	if err != nil {
		return QueueAttributes{}, err
	}
	seen := s.w.see(q)
	all := map[string]string{
		"ApproximateNumberOfMessages":           strconv.Itoa(seen.Visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(seen.NotVisible),
		"ApproximateNumberOfMessagesDelayed":    strconv.Itoa(seen.Delayed),
		"CreatedTimestamp":                      strconv.FormatInt(q.created.Unix(), 10),
		"LastModifiedTimestamp":                 strconv.FormatInt(q.created.Unix(), 10),
		"QueueArn":                              s.w.arn("sqs", q.name),
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
			return QueueAttributes{}, fault("InvalidAttributeName", "Unknown Attribute %s.", name)
		}
	}
	return out, nil
}

// optionalAttributes are those that a queue may not have.
func optionalAttributes() []string {
	return []string{"Policy", "RedrivePolicy", "RedriveAllowPolicy", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds",
		"SqsManagedSseEnabled",
		"FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"}
}

// publishQueues puts the metrics of AWS/SQS out, of those queues that are awake.
func (w *World) publishQueues() {
	for _, name := range sorted(w.queues) {
		q := w.queues[name]
		c := q.at(w.now)
		if c.Visible+c.NotVisible+c.Delayed > 0 {
			w.touch(q)
		}
		if !w.now.Before(q.active.Add(queueSleep)) {
			q.asleep = true
		}
		if q.asleep || w.now.Before(q.awake) {
			q.shown = q.traffic
			continue
		}
		put := func(metric string, v float64) {
			w.publish(MetricName{"AWS/SQS", metric, []Dimension{{"QueueName", name}}}, v)
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

// publishGroups puts the group metrics out that were enabled.
func (w *World) publishGroups() {
	for _, name := range sorted(w.groups) {
		g := w.groups[name]
		if len(g.metrics) == 0 {
			continue
		}
		in := map[LifecycleState]int{}
		for _, i := range g.instances {
			in[i.state]++
		}
		pending := in[Pending] + in[PendingWait] + in[PendingProceed]
		ending := in[Terminating] + in[TerminatingWait] + in[TerminatingProceed] + in[TerminatingRetained]
		values := map[string]int{
			"GroupMinSize": g.MinSize, "GroupMaxSize": g.MaxSize, "GroupDesiredCapacity": g.desired,
			"GroupInServiceInstances": in[InService],
			"GroupPendingInstances":   pending, "GroupStandbyInstances": in[Standby],
			"GroupTerminatingInstances": ending,
			"GroupTotalInstances":       pending + ending + in[InService] + in[Standby],
			"WarmPoolDesiredCapacity":   g.poolSize(), "WarmPoolWarmedCapacity": g.warm(),
		}
		for _, m := range sorted(g.metrics) {
			w.publish(MetricName{"AWS/AutoScaling", m, []Dimension{{"AutoScalingGroupName", name}}}, float64(values[m]))
		}
	}
}

// groupMetrics are the metrics that a group can publish.
func groupMetrics() []string {
	return []string{"GroupMinSize", "GroupMaxSize", "GroupDesiredCapacity", "GroupInServiceInstances",
		"GroupPendingInstances",
		"GroupStandbyInstances", "GroupTerminatingInstances", "GroupTotalInstances", "WarmPoolDesiredCapacity",
		"WarmPoolWarmedCapacity"}
}

// EnableMetricsCollection has a group publish metrics once a minute.
func (a AutoScaling) EnableMetricsCollection(in GroupMetrics) (Nothing, error) {
	if in.Granularity != "1Minute" {
		return Nothing{}, invalid("Granularity '%s' must be 1Minute.", in.Granularity)
	}
	return a.collect(in, true)
}

// DisableMetricsCollection stops that.
func (a AutoScaling) DisableMetricsCollection(in GroupMetrics) (Nothing, error) {
	return a.collect(in, false)
}

func (a AutoScaling) collect(in GroupMetrics, on bool) (Nothing, error) {
	g, err := a.w.change(in.AutoScalingGroupName)
	if err != nil {
		return Nothing{}, err
	}
	names := in.Metrics
	if len(names) == 0 {
		names = groupMetrics()
	}
	for _, m := range names {
		if !slices.Contains(groupMetrics(), m) {
			return Nothing{}, invalid("'%s' is no group metric of the model; they are %s.", m,
				strings.Join(groupMetrics(), ", "))
		}
	}
	for _, m := range names {
		if on {
			g.metrics[m] = true
		} else {
			delete(g.metrics, m)
		}
	}
	return Nothing{}, nil
}

// Dimension is one name and value of a metric.
type Dimension struct {
	Name, Value string
}

// MetricName is what CloudWatch knows a metric by.
type MetricName struct {
	Namespace  string
	MetricName string
	Dimensions []Dimension
}

// key is one text for all orders of the dimensions.
func (m MetricName) key() string {
	dims := slices.Clone(m.Dimensions)
	slices.SortFunc(dims, func(a, b Dimension) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name),
			cmp.Compare(a.Value, b.Value))
	})
	var b strings.Builder
	b.WriteString(strconv.Quote(m.Namespace) + strconv.Quote(m.MetricName))
	for _, d := range dims {
		b.WriteString(strconv.Quote(d.Name) + strconv.Quote(d.Value))
	}
	return b.String()
}
