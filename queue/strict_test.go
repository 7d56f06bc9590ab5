package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/muster-scale/muster/queue/internal/machine"
)

func TestAStrictServiceRefusesForAMinuteWhatAWSRefuses(t *testing.T) {
	for name, row := range map[string]struct {
		call func(context.Context, *Service) error
		want error
	}{
		"a second purge": {func(ctx context.Context, s *Service) error { return s.Purge(ctx, "q") },
			ErrPurgeInProgress},
		"the name of a deleted queue": {func(ctx context.Context,
			s *Service) error {
			return s.CreateQueue(ctx, "gone", nil, nil)
		}, ErrDeletedRecently},
	} {
		for _, strict := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, strict %t", name, strict), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, err := Open(Options{Ephemeral: true, Strict: strict})
					if err != nil {
						t.Fatal(err)
					}
					defer s.Close()
					mustCreate(t, s, "q", nil)
					mustCreate(t, s, "gone", nil)
					if err := errors.Join(s.Purge(t.Context(), "q"), s.DeleteQueue(t.Context(), "gone")); err != nil {
						t.Fatal(err)
					}
					later(t, time.Minute-time.Millisecond)
					if err := row.call(t.Context(), s); strict != errors.Is(err, row.want) || !strict && err != nil {
						t.Errorf("within a minute: %v", err)
					}
					later(t, time.Millisecond)
					if err := row.call(t.Context(), s); err != nil {
						t.Errorf("after a minute: %v", err)
					}
				})
			})
		}
	}
}

func TestTooManyInFlight(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", nil)
	mustCreateFIFO(t, s, "q.fifo", nil)
	for _, name := range []string{"q", "q.fifo"} {
		st := s.writer.Lock()
		q := st.Names[name]
		for range MaxInFlight {
			st.LastSeq++
			q.Add(machine.Entry{Numbers: machine.Numbers{Seq: st.LastSeq, Visible: machine.Never, Received: 1,
				Count: 1}, Place: machine.InFlight}, machine.Label{Group: "g"})
		}
		s.writer.Unlock()
		sendOne(t, s, name, Outgoing{Body: "x", GroupID: "h"})
	}
	if _, err := s.Receive(t.Context(), "q", ReceiveOptions{}); !errors.Is(err, ErrOverLimit) {
		t.Errorf("standard queue: %v", err)
	}
	if got, err := s.Receive(t.Context(), "q.fifo", ReceiveOptions{}); err != nil || len(got) != 0 {
		t.Errorf("FIFO queue: %d messages, %v; want none and no error", len(got), err)
	}
}

func TestEncryptionAttributesExcludeEachOther(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", map[string]string{"KmsMasterKeyId": "k"})
	for _, step := range []struct{ name, value, kms, sse string }{
		{"SqsManagedSseEnabled", "true", "", "true"},
		{"KmsMasterKeyId", "k2", "k2", "false"},
		{"KmsMasterKeyId", "", "", "true"},
	} {
		if err := s.SetAttributes(t.Context(), "q", map[string]string{step.name: step.value}); err != nil {
			t.Fatal(err)
		}
		if a, err := s.Attributes("q"); err != nil || a["KmsMasterKeyId"] != step.kms ||
			a["SqsManagedSseEnabled"] != step.sse {
			t.Errorf("after %s=%q: %v, %v", step.name, step.value, a, err)
		}
	}
}

func TestAPolicyIsEditedWhole(t *testing.T) {
	s := ephemeral(t)
	mustCreate(t, s, "q", map[string]string{"Policy": `{"a":1}`})
	refusal := errors.New("no")
	edit := func(text string, err error) error {
		return s.EditPolicy(t.Context(), "q", func(before string) (string, error) {
			if before != `{"a":1}` {
				t.Errorf("policy was %q", before)
			}
			return text, err
		})
	}
	if err := edit(`{"b":1}`, refusal); err != refusal {
		t.Errorf("refused edit: %v", err)
	}
	if err := edit("no JSON", nil); !errors.Is(err, ErrInvalidAttributeValue) {
		t.Errorf("edit to no JSON: %v", err)
	}
	if err := edit(`{"b":1}`, nil); err != nil {
		t.Error(err)
	}
	if a, err := s.Attributes("q"); err != nil || a["Policy"] != `{"b":1}` {
		t.Errorf("policy %q, %v", a["Policy"], err)
	}
}
