package queue

import (
	"context"
	"maps"
	"slices"
	"strconv"
)

// strictPause is how long, in milliseconds, AWS refuses a second purge, and
// the name of a deleted queue.
const strictPause = 60_000

// CreateQueue creates a queue with SQS attributes and tags; one with FifoQueue
// true and a name that ends in .fifo is a FIFO queue. It succeeds if the queue
// exists and every attribute given equals the existing one; otherwise the
// error is ErrQueueExists and names the attribute that differs.
func (s *Service) CreateQueue(ctx context.Context, name string, attributes, tags map[string]string) error {
	fifo := isTrue(attributes["FifoQueue"])
	if err := checkName(name, fifo); err != nil {
		return err
	}
	normal, err := checkAttributes(attributes, fifo)
	if err != nil {
		return err
	}
	if err := checkTags(name, tags); err != nil {
		return err
	}
	set, err := parseSettings(normal)
	if err != nil {
		return err
	}
	c := &call{room: true, answer: newReply(), run: func(st *state, now int64) error {
		if q := st.names[name]; q != nil {
			return sameAttributes(q, normal)
		}
		if len(st.names) >= MaxQueues {
			return refuse(ErrTooManyQueues, "Too many queues: the limit is %d; delete some first.", MaxQueues)
		}
		if scope := scopeOf(name); scope != "" && !st.hasScope(scope) && st.scopes() >= MaxScopes {
			return refuse(ErrTooManyQueues,
				"Queues in too many regions and accounts: the limit is %d; delete those of one first.", MaxScopes)
		}
		if at, ok := st.dropped[name]; ok && s.strict && now < at+strictPause {
			return refuse(ErrDeletedRecently, "You must wait 60 seconds after deleting a queue before you can create another with the same name.")
		}
		if err := checkTarget(st, name, attributes["RedrivePolicy"], set.redrive); err != nil {
			return err
		}
		st.put(&queueRow{name: name, attributes: withoutEmpty(normal), tags: maps.Clone(tags), created: now, modified: now}, set)
		return nil
	}}
	return s.do(ctx, c, c.answer)
}

func withoutEmpty(attributes map[string]string) map[string]string {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

func sameAttributes(q *queue, wanted map[string]string) error {
	defaults := q.defaults()
	defaults["KmsDataKeyReusePeriodSeconds"] = defaultReusePeriod
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		have, ok := q.saved.attributes[key]
		if !ok {
			have = defaults[key]
		}
		if have != wanted[key] {
			return refuse(ErrQueueExists, "A queue already exists with the same name and a different value for attribute %s", key)
		}
	}
	return nil
}

// defaults are the attributes that q has unless it says otherwise.
func (q *queue) defaults() map[string]string {
	out := defaultsOf(q.fifo)
	maps.Copy(out, encryptionDefaults(q.saved.attributes))
	return out
}

// checkTarget says whether name may use the dead-letter queue of r, which is read from policy. A queue may be its own,
// as at AWS; its messages then stay where they are.
func checkTarget(st *state, name, policy string, r *redrive) error {
	if r == nil {
		return nil
	}
	target := st.names[scopeOf(name)+r.target]
	switch {
	case target == nil:
		return invalidRedrive(policy, "Dead letter target does not exist.")
	case isFIFO(r.target) != isFIFO(name):
		return invalidRedrive(policy,
			"Dead-letter queue must be same type of queue as the source..") // two points, as AWS has it
	}
	allow := target.settings.allow
	_, _, source := CutScope(name)
	if allow.permission == "denyAll" || allow.permission == "byQueue" && !slices.Contains(allow.sources, source) {
		return invalidRedrive(policy, "The RedriveAllowPolicy of the dead-letter queue does not allow this source queue.")
	}
	return nil
}

// Queues returns the names of all queues, sorted.
func (s *Service) Queues() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.st.names))
}

// DeadLetterSources returns the names of the queues, sorted, whose
// RedrivePolicy names the given queue.
func (s *Service) DeadLetterSources(name string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.st.names[name] == nil {
		return nil, noQueue(name)
	}
	var out []string
	for source, q := range s.st.names {
		if q.deadLetterQueue() == name {
			out = append(out, source)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Attributes returns the attributes of a queue under their SQS names: the
// settable ones with their defaults, CreatedTimestamp and
// LastModifiedTimestamp in Unix seconds, and the three
// ApproximateNumberOfMessages counts, which here are exact.
func (s *Service) Attributes(name string) (map[string]string, error) {
	counts, err := s.Counts(name)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.names[name]
	if q == nil {
		return nil, noQueue(name)
	}
	out := q.defaults()
	maps.Copy(out, q.saved.attributes)
	if out["KmsMasterKeyId"] == "" {
		delete(out, "KmsDataKeyReusePeriodSeconds") // AWS shows it together with a key only
	}
	out["CreatedTimestamp"] = strconv.FormatInt(q.saved.created/1000, 10)
	out["LastModifiedTimestamp"] = strconv.FormatInt(q.saved.modified/1000, 10)
	out["ApproximateNumberOfMessages"] = strconv.Itoa(counts.Visible)
	out["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(counts.InFlight)
	out["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(counts.Delayed)
	return out, nil
}

// SetAttributes changes attributes of a queue; those not given stay. An empty
// RedrivePolicy or RedriveAllowPolicy removes it. A new VisibilityTimeout or
// DelaySeconds applies to later receives and sends, a new retention to all.
func (s *Service) SetAttributes(ctx context.Context, name string, attributes map[string]string) error {
	now, err := s.lookup(name)
	if err != nil {
		return err
	}
	if given, ok := attributes["FifoQueue"]; ok && now.fifo && !isTrue(given) {
		return refuse(ErrInvalidAttributeValue, "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
	}
	normal, err := checkAttributes(attributes, now.fifo)
	if err != nil {
		return err
	}
	return s.alter(ctx, name, func(st *state, saved *queueRow) (settings, error) {
		merged := maps.Clone(saved.attributes)
		if merged == nil {
			merged = map[string]string{}
		}
		switch { // one kind of encryption ends the other
		case normal["KmsMasterKeyId"] != "" && normal["SqsManagedSseEnabled"] == "":
			delete(merged, "SqsManagedSseEnabled")
		case normal["SqsManagedSseEnabled"] == "true" && normal["KmsMasterKeyId"] == "":
			delete(merged, "KmsMasterKeyId")
		}
		maps.Copy(merged, normal)
		saved.attributes = withoutEmpty(merged)
		set, err := parseSettings(saved.attributes)
		if err == nil && normal["RedrivePolicy"] != "" {
			err = checkTarget(st, name, attributes["RedrivePolicy"], set.redrive)
		}
		return set, err
	})
}

// alter changes a copy of what is saved of a queue.
func (s *Service) alter(ctx context.Context, name string, change func(*state, *queueRow) (settings, error)) error {
	c := &call{answer: newReply(), run: func(st *state, now int64) error {
		q := st.names[name]
		if q == nil {
			return noQueue(name)
		}
		saved := *q.saved
		set, err := change(st, &saved)
		if err != nil {
			return err
		}
		saved.modified = now
		st.alter(q, &saved, set)
		return nil
	}}
	return s.do(ctx, c, c.answer)
}

// Tags returns the tags of a queue.
func (s *Service) Tags(name string) (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.st.names[name]
	if q == nil {
		return nil, noQueue(name)
	}
	return maps.Clone(q.saved.tags), nil
}

// Tag adds tags to a queue, or replaces their values.
func (s *Service) Tag(ctx context.Context, name string, tags map[string]string) error {
	return s.retag(ctx, name, func(all map[string]string) { maps.Copy(all, tags) })
}

// Untag removes tags from a queue; unknown keys are ignored.
func (s *Service) Untag(ctx context.Context, name string, keys []string) error {
	return s.retag(ctx, name, func(all map[string]string) {
		for _, key := range keys {
			delete(all, key)
		}
	})
}

func (s *Service) retag(ctx context.Context, name string, change func(map[string]string)) error {
	return s.alter(ctx, name, func(st *state, saved *queueRow) (settings, error) {
		tags := maps.Clone(saved.tags)
		if tags == nil {
			tags = map[string]string{}
		}
		change(tags)
		saved.tags = tags
		return st.names[name].settings, checkTags(name, tags)
	})
}

// EditPolicy replaces the Policy attribute of a queue by what edit makes of
// it; no other change comes in between. An error of edit is returned and
// changes nothing. edit must not wait for anything.
func (s *Service) EditPolicy(ctx context.Context, name string, edit func(policy string) (string, error)) error {
	return s.alter(ctx, name, func(st *state, saved *queueRow) (settings, error) {
		policy, err := edit(saved.attributes["Policy"])
		if err == nil {
			policy, err = checkAttribute("Policy", policy, false)
		}
		if err != nil {
			return settings{}, err
		}
		all := maps.Clone(saved.attributes)
		if all == nil {
			all = map[string]string{}
		}
		all["Policy"] = policy
		saved.attributes = withoutEmpty(all)
		return st.names[name].settings, nil
	})
}

// DeleteQueue deletes a queue with all its messages, at once and for good.
func (s *Service) DeleteQueue(ctx context.Context, name string) error {
	return s.withQueue(ctx, name, func(st *state, q *queue, now int64) error {
		st.drop(q)
		if s.strict {
			maps.DeleteFunc(st.dropped, func(_ string, at int64) bool { return now >= at+strictPause })
			st.dropped[name] = now
		}
		return nil
	})
}

// Purge deletes all messages of a queue, those in flight and delayed included,
// and forgets what a FIFO queue was sent. It may be repeated at any time, save
// on a strict service.
func (s *Service) Purge(ctx context.Context, name string) error {
	return s.withQueue(ctx, name, func(st *state, q *queue, now int64) error {
		if s.strict && q.purged != 0 && now < q.purged+strictPause {
			_, _, bare := CutScope(name)
			return refuse(ErrPurgeInProgress, "Only one PurgeQueue operation on %s is allowed every 60 seconds.", bare)
		}
		before := q.purged
		st.noteUndo(func() { q.purged = before })
		q.purged = now
		st.purge(q)
		return nil
	})
}

func (s *Service) withQueue(ctx context.Context, name string, do func(*state, *queue, int64) error) error {
	c := &call{answer: newReply(), run: func(st *state, now int64) error {
		q := st.names[name]
		if q == nil {
			return noQueue(name)
		}
		return do(st, q, now)
	}}
	return s.do(ctx, c, c.answer)
}
