// The calls about queues: creating, changing, purging and deleting them, their attributes and their
// tags.

package queue

import (
	"context"
	"maps"
	"slices"
	"strconv"

	"github.com/muster-scale/muster/queue/internal/machine"
	"github.com/muster-scale/muster/queue/internal/rules"
	"github.com/muster-scale/muster/queue/internal/writer"
)

// strictPause is the time, in milliseconds, for which AWS refuses a second purge and the name of a
// deleted queue.
const strictPause = 60_000

// CreateQueue creates a queue with SQS attributes and tags. FifoQueue true and a name that ends in
// .fifo make a FIFO queue. If the queue exists, CreateQueue succeeds when every given attribute equals
// the existing one; otherwise the error is ErrQueueExists and names the attribute that differs. Tags of
// an existing queue are not compared, as at AWS.
func (s *Service) CreateQueue(ctx context.Context, name string, attributes, tags map[string]string) error {
	fifo := rules.IsTrue(attributes["FifoQueue"])
	if err := rules.CheckName(name, fifo); err != nil {
		return err
	}
	normal, err := rules.CheckAttributes(attributes, fifo)
	if err != nil {
		return err
	}
	if err := rules.CheckTags(name, tags); err != nil {
		return err
	}
	set, err := rules.ParseSettings(normal)
	if err != nil {
		return err
	}
	c := &writer.Call{Room: true, Answer: writer.NewReply(), Run: func(st *machine.State, now int64) error {
		if q := st.Names[name]; q != nil {
			return sameAttributes(q, normal)
		}
		if len(st.Names) >= MaxQueues {
			return rules.Refuse(ErrTooManyQueues, "Too many queues: the limit is %d; delete some first.", MaxQueues)
		}
		if scope := machine.ScopeOf(name); scope != "" && !st.HasScope(scope) && st.Scopes() >= MaxScopes {
			return rules.Refuse(ErrTooManyQueues,
				"Queues in too many regions and accounts: the limit is %d; delete those of one first.", MaxScopes)
		}
		if at, ok := st.Dropped[name]; ok && s.strict && now < at+strictPause {
			return rules.Refuse(ErrDeletedRecently,
				"You must wait 60 seconds after deleting a queue before you can create another with the same name.")
		}
		if err := checkTarget(st, name, attributes["RedrivePolicy"], set.Redrive); err != nil {
			return err
		}
		st.Put(&machine.QueueRow{Name: name, Attributes: withoutEmpty(normal), Tags: maps.Clone(tags), Created: now,
			Modified: now}, set)
		return nil
	}}
	return s.writer.Do(ctx, c, c.Answer)
}

// withoutEmpty drops attributes with an empty value. An empty value is the request to remove an
// attribute.
func withoutEmpty(attributes map[string]string) map[string]string {
	out := maps.Clone(attributes)
	maps.DeleteFunc(out, func(_, value string) bool { return value == "" })
	return out
}

// sameAttributes returns ErrQueueExists if an attribute in wanted differs from q's, the first by name.
func sameAttributes(q *machine.Queue, wanted map[string]string) error {
	defaults := defaultsFor(q)
	// EncryptionDefaults has this default only with a key; a comparison needs it in any case.
	defaults["KmsDataKeyReusePeriodSeconds"] = rules.DefaultReusePeriod
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		have, ok := q.Saved.Attributes[key]
		if !ok {
			have = defaults[key]
		}
		if have != wanted[key] {
			return rules.Refuse(ErrQueueExists,
				"A queue already exists with the same name and a different value for attribute %s", key)
		}
	}
	return nil
}

// defaultsFor returns the attributes that q has by default.
func defaultsFor(q *machine.Queue) map[string]string {
	out := rules.DefaultsOf(q.Fifo)
	maps.Copy(out, rules.EncryptionDefaults(q.Saved.Attributes))
	return out
}

// checkTarget returns an error unless the queue name may use the dead-letter queue of r. policy is the
// text r was read from, for the error. A queue may name itself, as at AWS; its messages then stay where
// they are.
func checkTarget(st *machine.State, name, policy string, r *machine.Redrive) error {
	if r == nil {
		return nil
	}
	target := st.Names[machine.ScopeOf(name)+r.Target]
	switch {
	case target == nil:
		return rules.InvalidRedrive(policy, "Dead letter target does not exist.")
	case rules.IsFIFO(r.Target) != rules.IsFIFO(name):
		return rules.InvalidRedrive(policy,
			"Dead-letter queue must be same type of queue as the source..") // two full stops, as in AWS's text
	}
	allow := target.Settings.Allow
	_, _, source := CutScope(name)
	if allow.Permission == "denyAll" || allow.Permission == "byQueue" && !slices.Contains(allow.Sources, source) {
		return rules.InvalidRedrive(policy,
			"The RedriveAllowPolicy of the dead-letter queue does not allow this source queue.")
	}
	return nil
}

// Queues returns the names of all queues, sorted.
func (s *Service) Queues() []string {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	return slices.Sorted(maps.Keys(st.Names))
}

// DeadLetterSources returns the names, sorted, of the queues whose RedrivePolicy names the given queue.
func (s *Service) DeadLetterSources(name string) ([]string, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	if st.Names[name] == nil {
		return nil, rules.NoQueue(name)
	}
	var out []string
	for source, q := range st.Names {
		if q.DeadLetterQueue() == name {
			out = append(out, source)
		}
	}
	slices.Sort(out)
	return out, nil
}

// Attributes returns the attributes of a queue under their SQS names: the settable ones with their
// defaults, CreatedTimestamp and LastModifiedTimestamp in Unix seconds, and the three
// ApproximateNumberOfMessages counts, which are exact here.
func (s *Service) Attributes(name string) (map[string]string, error) {
	counts, err := s.Counts(name)
	if err != nil {
		return nil, err
	}
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[name]
	if q == nil {
		return nil, rules.NoQueue(name)
	}
	out := defaultsFor(q)
	maps.Copy(out, q.Saved.Attributes)
	if out["KmsMasterKeyId"] == "" {
		delete(out, "KmsDataKeyReusePeriodSeconds") // AWS shows it only together with a key
	}
	out["CreatedTimestamp"] = strconv.FormatInt(q.Saved.Created/1000, 10)
	out["LastModifiedTimestamp"] = strconv.FormatInt(q.Saved.Modified/1000, 10)
	out["ApproximateNumberOfMessages"] = strconv.Itoa(counts.Visible)
	out["ApproximateNumberOfMessagesNotVisible"] = strconv.Itoa(counts.InFlight)
	out["ApproximateNumberOfMessagesDelayed"] = strconv.Itoa(counts.Delayed)
	return out, nil
}

// SetAttributes changes attributes of a queue; attributes not given stay. An empty RedrivePolicy or
// RedriveAllowPolicy removes it. A new VisibilityTimeout or DelaySeconds applies to later receives and
// sends, a new retention to all messages.
func (s *Service) SetAttributes(ctx context.Context, name string, attributes map[string]string) error {
	now, err := s.lookup(name)
	if err != nil {
		return err
	}
	if given, ok := attributes["FifoQueue"]; ok && now.Fifo && !rules.IsTrue(given) {
		return rules.Refuse(ErrInvalidAttributeValue,
			"Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.")
	}
	normal, err := rules.CheckAttributes(attributes, now.Fifo)
	if err != nil {
		return err
	}
	return s.alter(ctx, name, func(st *machine.State, saved *machine.QueueRow) (machine.Settings, error) {
		merged := maps.Clone(saved.Attributes)
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
		saved.Attributes = withoutEmpty(merged)
		set, err := rules.ParseSettings(saved.Attributes)
		if err == nil && normal["RedrivePolicy"] != "" {
			err = checkTarget(st, name, attributes["RedrivePolicy"], set.Redrive)
		}
		return set, err
	})
}

// alter replaces the saved row of a queue by a changed copy. change runs on the writer with the lock
// held and must not wait. If it returns an error, nothing changes.
func (s *Service) alter(ctx context.Context, name string,
	change func(*machine.State, *machine.QueueRow) (machine.Settings, error)) error {
	c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, now int64) error {
		q := st.Names[name]
		if q == nil {
			return rules.NoQueue(name)
		}
		saved := *q.Saved
		set, err := change(st, &saved)
		if err != nil {
			return err
		}
		saved.Modified = now
		st.Alter(q, &saved, set)
		return nil
	}}
	return s.writer.Do(ctx, c, c.Answer)
}

// Tags returns the tags of a queue.
func (s *Service) Tags(name string) (map[string]string, error) {
	st := s.writer.Lock()
	defer s.writer.Unlock()
	q := st.Names[name]
	if q == nil {
		return nil, rules.NoQueue(name)
	}
	return maps.Clone(q.Saved.Tags), nil
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

// retag applies change to a copy of the tags and checks the result.
func (s *Service) retag(ctx context.Context, name string, change func(map[string]string)) error {
	return s.alter(ctx, name, func(st *machine.State, saved *machine.QueueRow) (machine.Settings, error) {
		tags := maps.Clone(saved.Tags)
		if tags == nil {
			tags = map[string]string{}
		}
		change(tags)
		saved.Tags = tags
		return st.Names[name].Settings, rules.CheckTags(name, tags)
	})
}

// EditPolicy replaces the Policy attribute of a queue by the result of edit, atomically. An error of
// edit is returned and changes nothing. edit must not wait.
func (s *Service) EditPolicy(ctx context.Context, name string, edit func(policy string) (string, error)) error {
	return s.alter(ctx, name, func(st *machine.State, saved *machine.QueueRow) (machine.Settings, error) {
		policy, err := edit(saved.Attributes["Policy"])
		if err == nil {
			policy, err = rules.CheckAttribute("Policy", policy, false)
		}
		if err != nil {
			return machine.Settings{}, err
		}
		all := maps.Clone(saved.Attributes)
		if all == nil {
			all = map[string]string{}
		}
		all["Policy"] = policy
		saved.Attributes = withoutEmpty(all)
		return st.Names[name].Settings, nil
	})
}

// DeleteQueue deletes a queue with all its messages, at once and for good. A strict service then
// refuses the name for 60 s.
func (s *Service) DeleteQueue(ctx context.Context, name string) error {
	return s.withQueue(ctx, name, func(st *machine.State, q *machine.Queue, now int64) error {
		st.Drop(q)
		if s.strict {
			maps.DeleteFunc(st.Dropped, func(_ string, at int64) bool { return now >= at+strictPause })
			st.Dropped[name] = now
		}
		return nil
	})
}

// Purge deletes all messages of a queue, also those in flight and delayed, and the deduplication ids of
// a FIFO queue. Only a strict service refuses a second purge within 60 s.
func (s *Service) Purge(ctx context.Context, name string) error {
	return s.withQueue(ctx, name, func(st *machine.State, q *machine.Queue, now int64) error {
		if s.strict && q.Purged != 0 && now < q.Purged+strictPause {
			_, _, bare := CutScope(name)
			return rules.Refuse(ErrPurgeInProgress, "Only one PurgeQueue operation on %s is allowed every 60 seconds.",
				bare)
		}
		before := q.Purged
		st.NoteUndo(func() { q.Purged = before })
		q.Purged = now
		st.Purge(q)
		return nil
	})
}

// withQueue runs do on the writer with the named queue, and waits for the commit.
func (s *Service) withQueue(ctx context.Context, name string,
	do func(*machine.State, *machine.Queue, int64) error) error {
	c := &writer.Call{Answer: writer.NewReply(), Run: func(st *machine.State, now int64) error {
		q := st.Names[name]
		if q == nil {
			return rules.NoQueue(name)
		}
		return do(st, q, now)
	}}
	return s.writer.Do(ctx, c, c.Answer)
}
