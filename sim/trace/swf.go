package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

// The fields of a job in the Standard Workload Format, version 2.2, counted from 0; -1 stands for an unknown value. See
// docs/traces.md for the source.
const (
	swfFields = 18
	swfSubmit = 1
	swfRun    = 3
	swfStatus = 10
)

// swfReader reads job logs in the Standard Workload Format. Each job is one message that occupies one slot for its run
// time, however many processors it had. Arrivals count from the first job.
//
// It skips and counts jobs whose submit or run time is unknown, and jobs that were cancelled before they ran. It also
// skips lines about a part of a job, because the whole job has a line of its own.
type swfReader struct {
	*lines
	fields [swfFields][]byte
	begun  bool
	base   time.Duration // the submit time of the first job that counts
	// order has the newest arrival and the number of jobs that count.
	order   Order
	skipped int64
	failed  error
}

// Skipped returns how many jobs were skipped so far.
func (r *swfReader) Skipped() int64 { return r.skipped }

// Next returns the next job.
func (r *swfReader) Next() (Message, error) {
	if r.failed != nil {
		return Message{}, r.failed
	}
	m, err := r.job()
	if err == io.EOF && r.order.count == 0 {
		err = r.whole(ErrEmpty)
		if r.skipped > 0 {
			err = r.whole(fmt.Errorf("found no job with a submit and a run time among %d", r.skipped))
		}
	}
	r.failed = err
	return m, err
}

// job returns the next job that counts.
func (r *swfReader) job() (Message, error) {
	for {
		line, err := r.next()
		if err != nil {
			return Message{}, err
		}
		// Comments may stand between jobs, too.
		if trim(line)[0] == ';' {
			continue
		}
		m, ok, err := r.parse(line)
		switch {
		case err != nil:
			return m, r.fault(err)
		case !ok:
			r.skipped++
			continue
		case !r.begun:
			r.begun, r.base = true, m.Arrival
		// Logs are sorted by submit time; a log that is not would make arrivals descend.
		case m.Arrival < r.base+r.order.last:
			return m, r.fault(unsorted(seconds(m.Arrival), seconds(r.base+r.order.last)))
		}
		m.Arrival -= r.base
		r.order.last = m.Arrival
		if r.order.count++; r.order.count > MaxMessages {
			return m, r.fault(tooMany())
		}
		return m, nil
	}
}

// parse reads one job; ok is false for a job to skip.
func (r *swfReader) parse(line []byte) (m Message, ok bool, err error) {
	n := 0
	for rest := trim(line); len(rest) > 0; n++ {
		if n == swfFields {
			return m, false, fmt.Errorf("found more than %d fields, want a job in the Standard Workload Format",
				swfFields)
		}
		end := 0
		for end < len(rest) && rest[end] != ' ' && rest[end] != '\t' {
			end++
		}
		r.fields[n], rest = rest[:end], trim(rest[end:])
	}
	if n < swfFields {
		return m, false, fmt.Errorf("found %d fields, want the %d of a job in the Standard Workload Format, -1 for "+
			"what is unknown", n, swfFields)
	}
	submit, run, status := r.fields[swfSubmit], r.fields[swfRun], r.fields[swfStatus]
	if !missing(submit) {
		if m.Arrival, err = parseSeconds("submit time", submit); err != nil {
			return m, false, err
		}
	}
	if !missing(run) {
		if m.Service, err = parseSeconds("run time", run); err != nil {
			return m, false, err
		}
	}
	if len(status) == 0 || bytes.ContainsFunc(status, func(c rune) bool { return c != '-' && (c < '0' || c > '9') }) {
		return m, false, errors.New("found the status " + short(status) + ", want a whole number from -1 to 5")
	}
	const cancelled = "5"
	// The statuses 2, 3 and 4 are of a partial execution: checkpointed jobs have a line for each part.
	part := string(status) == "2" || string(status) == "3" || string(status) == "4"
	never := string(status) == cancelled && m.Service == 0
	return m, !missing(submit) && !missing(run) && !part && !never, nil
}

// missing tells whether a field is -1.
func missing(field []byte) bool { return string(field) == "-1" || string(field) == "-1.0" }
