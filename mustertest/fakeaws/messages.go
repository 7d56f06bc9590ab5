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

// This file connects a queue with real messages. Requests for SQS pass the world's rates and troubles, then reach the
// endpoint; only the counts that it answers are replaced by late and approximate ones.

// Messages makes an endpoint answer all requests for SQS, for example one of package sqsapi that accepts any
// credentials. Troubles and rates of the world apply to these requests. GetQueueAttributes then shows counts as late
// and approximate as the world's settings say; the world learns the true counts at each such call, and publishes them
// as metrics. Nil makes the world answer again.
func (s *Server) Messages(endpoint http.Handler) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = endpoint
}

// forward passes a request for SQS to the endpoint of Messages. It tells whether there is an endpoint; only then is
// the request answered.
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
	s.count(c)
	admission := s.world.Admit(c.service, c.action)
	s.mu.Unlock()
	switch f := admission.Fault; {
	case f != nil && f.Hang:
		s.hang(w, r, false)
	case f != nil:
		c.wire.refuse(w, c, f)
	// The endpoint carries the request out, and its answer is dropped: the client must be able to repeat it.
	case admission.LoseAnswer:
		callEndpoint(endpoint, r, body)
		s.hang(w, r, true)
	case c.action == "GetQueueAttributes":
		s.answerCounts(w, r, c, endpoint, body)
	default:
		r.Body = io.NopCloser(bytes.NewReader(body))
		endpoint.ServeHTTP(w, r)
	}
	return true
}

// bufferedAnswer is an answer of the endpoint that is read before it is sent. It implements http.ResponseWriter.
type bufferedAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (k *bufferedAnswer) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter. The last status counts.
func (k *bufferedAnswer) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter. It never fails.
func (k *bufferedAnswer) Write(p []byte) (int, error) { return k.body.Write(p) }

// callEndpoint sends a request with this body to the endpoint and returns its answer.
func callEndpoint(endpoint http.Handler, r *http.Request, body []byte) *bufferedAnswer {
	k := &bufferedAnswer{header: http.Header{}, status: http.StatusOK}
	// The request is cloned because two calls may come of one request: the client's own, and the one for all counts.
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	r.Header.Set("Content-Length", strconv.Itoa(len(body)))
	endpoint.ServeHTTP(k, r)
	return k
}

// counts are the attributes that are shown late and approximate.
var counts = []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible",
	"ApproximateNumberOfMessagesDelayed"}

// attributes is the answer of GetQueueAttributes.
type attributes struct{ Attributes map[string]string }

// answerCounts answers GetQueueAttributes. It reads the true counts from the endpoint, states them to the world, and
// replaces the counts in the endpoint's answer by what the world shows.
func (s *Server) answerCounts(w http.ResponseWriter, r *http.Request, c call, endpoint http.Handler, body []byte) {
	answer := callEndpoint(endpoint, r, body)
	var in queues.QueueAttributesInput
	var out, exact attributes
	if answer.status == http.StatusOK && json.Unmarshal(body, &in) == nil &&
		json.Unmarshal(answer.body.Bytes(), &out) == nil {
		// The client may have named only some of the counts. The world needs all of them, and the ARN for the queue's
		// name.
		all, err := json.Marshal(map[string]any{"QueueUrl": in.QueueUrl,
			"AttributeNames": append(counts[:len(counts):len(counts)], "QueueArn")})
		if err == nil {
			err = json.Unmarshal(callEndpoint(endpoint, r, all).body.Bytes(), &exact)
		}
		var shown map[string]string
		if err == nil {
			shown, err = s.observe(in.QueueUrl, exact.Attributes)
		}
		if f := faultOf(c.service, err); f != nil {
			c.wire.refuse(w, c, f)
			return
		}
		// Only attributes that the client named are in the endpoint's answer, and only those are replaced.
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
	_, _ = w.Write(answer.body.Bytes()) // a client that hung up needs no answer
}

// observe states the true counts of a queue to the world, which it makes known there if needed, and returns the
// counts that the world shows.
func (s *Server) observe(url string, exact map[string]string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// The name comes from the ARN, not from the URL: the endpoint's URLs are its own.
	arn := exact["QueueArn"]
	name := arn[strings.LastIndexByte(arn, ':')+1:]
	number := func(k string) int {
		n, _ := strconv.Atoi(exact[k]) // the endpoint answers with numbers
		return n
	}
	made := queues.CreateQueueInput{QueueName: name}
	if strings.HasSuffix(name, ".fifo") {
		made.Attributes = map[string]string{"FifoQueue": "true"}
	}
	// The world learns of a queue at the first reading. An existing queue stays as it is.
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
