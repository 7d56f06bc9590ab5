package fakeaws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/muster-scale/muster/sim/cloud/account"
	"github.com/muster-scale/muster/sim/cloud/queues"
)

// Messages lets an endpoint hold the messages: requests for SQS go to it, such as one of package sqsapi that takes any
// credentials. Troubles and rates of the world apply to them. The counts that GetQueueAttributes shows then come late
// and blurred as the world's settings say, as far as the calls before have seen them, and go into the world's metrics.
// Nil gives SQS back to the world.
func (s *Server) Messages(endpoint http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = endpoint
}

// forward passes a request for SQS on. It tells whether there is somebody to pass it to.
func (s *Server) forward(w http.ResponseWriter, r *http.Request, c call, body []byte) bool {
	s.mu.Lock()
	endpoint := s.messages
	if endpoint == nil || c.service != account.SQSService {
		s.mu.Unlock()
		return false
	}
	if s.clock != nil {
		s.world.Advance(s.clock())
	}
	s.count(c.action)
	admission := s.world.Admit(c.service, c.action)
	s.mu.Unlock()
	switch f := admission.Fault; {
	case f != nil && f.Hang:
		s.hang(w, r, false)
	case f != nil:
		c.wire.refuse(w, c, f)
	case admission.LoseAnswer:
		pass(endpoint, r, body)
		s.hang(w, r, true)
	case c.action == "GetQueueAttributes":
		s.blur(w, r, c, endpoint, body)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		endpoint.ServeHTTP(w, r)
	}
	return true
}

// kept is an answer that somebody reads before it is sent.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (k *kept) Header() http.Header { return k.header }

func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(p []byte) (int, error) { return k.body.Write(p) }

// pass asks the endpoint and keeps its answer.
func pass(endpoint http.Handler, r *http.Request, body []byte) *kept {
	k := &kept{header: http.Header{}, status: http.StatusOK}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	endpoint.ServeHTTP(k, r)
	return k
}

// counts are the attributes that come late.
var counts = []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
	"ApproximateNumberOfMessagesDelayed"}

// attributes are what GetQueueAttributes answers.
type attributes struct{ Attributes map[string]string }

// blur answers GetQueueAttributes: it asks for the counts first, tells the world, and puts what that shows into the
// answer.
func (s *Server) blur(w http.ResponseWriter, r *http.Request, c call, endpoint http.Handler, body []byte) {
	answer := pass(endpoint, r, body)
	var in queues.QueueAttributesInput
	var out, exact attributes
	if answer.status == http.StatusOK && json.Unmarshal(body, &in) == nil &&
		json.Unmarshal(answer.body.Bytes(), &out) == nil {
		all, err := json.Marshal(map[string]any{"QueueUrl": in.QueueUrl,
			"AttributeNames": append(counts[:len(counts):len(counts)], "QueueArn")})
		if err == nil {
			err = json.Unmarshal(pass(endpoint, r, all).body.Bytes(), &exact)
		}
		var shown map[string]string
		if err == nil {
			shown, err = s.observe(in.QueueUrl, exact.Attributes)
		}
		if f := faultOf(c.service, err); f != nil {
			c.wire.refuse(w, c, f)
			return
		}
		for _, name := range counts {
			if _, asked := out.Attributes[name]; asked {
				out.Attributes[name] = shown[name]
			}
		}
		c.wire.answer(w, c, out)
		return
	}
	for k, v := range answer.header {
		w.Header()[k] = v
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body.Bytes()) // whoever hung up misses it
}

// observe tells the world what is in a queue, and returns the counts that it shows.
func (s *Server) observe(url string, exact map[string]string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	arn := exact["QueueArn"]
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	number := func(k string) int {
		n, _ := strconv.Atoi(exact[k]) // the endpoint writes numbers
		return n
	}
	made := queues.CreateQueueInput{QueueName: name}
	if strings.HasSuffix(name, ".fifo") {
		made.Attributes = map[string]string{"FifoQueue": "true"}
	}
	if _, err := s.world.SQS().CreateQueue(made); err != nil {
		return nil, err
	}
	if err := s.world.SQS().SetQueue(name, queues.QueueCounts{Visible: number(counts[0]), NotVisible: number(counts[1]),
		Delayed: number(counts[2])}, queues.Traffic{}); err != nil {
		return nil, fmt.Errorf("keep the counts of %s: %w", url, err)
	}
	out, err := s.world.SQS().GetQueueAttributes(queues.QueueAttributesInput{QueueUrl: "/" + name,
		AttributeNames: counts})
	return out.Attributes, err
}
