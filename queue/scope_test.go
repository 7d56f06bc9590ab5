package queue

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// TestQueuesOfOtherRegionsAndAccountsAreApart uses the same name in several of them, through a restart.
func TestQueuesOfOtherRegionsAndAccountsAreApart(t *testing.T) {
	dir := t.TempDir()
	names := []string{"q", Scoped("eu-west-1", "000000000000", "q"), Scoped("us-east-1", "111111111111", "q"),
		Scoped("eu-west-1", "111111111111", "q")}
	open := func() *Service {
		s, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	for _, name := range names {
		mustCreate(t, s, name, nil)
		mustSend(t, s, name, "for "+name)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	defer s.Close()
	for _, name := range names {
		if m := takeOne(t, s, name); m.Body != "for "+name {
			t.Errorf("from %s: %q", name, m.Body)
		}
		region, account, bare := CutScope(name)
		if bare != "q" || name != bare && Scoped(region, account, bare) != name {
			t.Errorf("the parts of %s are %q, %q and %q", name, region, account, bare)
		}
	}
}

// TestDeadLettersStayInTheirRegionAndAccount gives an ARN of another region: the queue beside the source is meant.
func TestDeadLettersStayInTheirRegionAndAccount(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		const policy = `{"deadLetterTargetArn":"arn:aws:sqs:eu-west-1:000000000000:dead","maxReceiveCount":1}`
		for _, name := range []string{"", Scoped("eu-west-1", "000000000000", "")} {
			if err := s.CreateQueue(t.Context(), name+"q", map[string]string{"RedrivePolicy": policy},
				nil); !errors.Is(err, ErrInvalidParameter) {
				t.Errorf("%sq without a dead-letter queue: %v", name, err)
			}
			mustCreate(t, s, name+"dead",
				map[string]string{"RedriveAllowPolicy": `{"redrivePermission":"byQueue","sourceQueueArns":["arn:aws:sqs:eu-west-1:000000000000:q"]}`})
			mustCreate(t, s, name+"q", map[string]string{"RedrivePolicy": policy, "VisibilityTimeout": "0"})
			mustSend(t, s, name+"q", "of "+name)
			takeOne(t, s, name+"q")
			if got, err := s.Receive(t.Context(), name+"q", ReceiveOptions{}); len(got) > 0 || err != nil {
				t.Errorf("from %sq again: %v, %v", name, got, err)
			}
			if m := takeOne(t, s, name+"dead"); m.Body != "of "+name || m.Source != name+"q" {
				t.Errorf("in %sdead: %+v", name, m)
			}
			if sources, err := s.DeadLetterSources(name + "dead"); err != nil || len(sources) != 1 ||
				sources[0] != name+"q" {
				t.Errorf("sources of %sdead: %q, %v", name, sources, err)
			}
		}
	})
}

func TestScopesAreCheckedAndLimited(t *testing.T) {
	inTime(t, func(t *testing.T, s *Service) {
		for _, row := range []struct {
			name, scoped string
			want         error
		}{
			{"a region and an account", Scoped("eu-west-1", "000000000000", "q"), nil},
			{"no region", Scoped("", "000000000000", "q"), ErrInvalidParameter},
			{"a region in capitals", Scoped("EU-west-1", "000000000000", "q"), ErrInvalidParameter},
			{"a region with a slash", Scoped("eu/west", "000000000000", "q"), ErrInvalidParameter},
			{"a region that is long", Scoped(strings.Repeat("e", 33), "000000000000", "q"), ErrInvalidParameter},
			{"an account of 11 digits", Scoped("eu-west-1", "00000000000", "q"), ErrInvalidParameter},
			{"an account of letters", Scoped("eu-west-1", "aaaaaaaaaaaa", "q"), ErrInvalidParameter},
			{"no name", Scoped("eu-west-1", "000000000000", ""), ErrInvalidParameter},
			{"a colon in a bare name", "a:q", ErrInvalidParameter},
		} {
			if err := s.CreateQueue(t.Context(), row.scoped, nil, nil); !errors.Is(err, row.want) {
				t.Errorf("%s: %v, want %v", row.name, err, row.want)
			}
		}
		for n := 1; n < MaxScopes; n++ {
			mustCreate(t, s, Scoped(fmt.Sprint("r-", n), "000000000000", "q"), nil)
		}
		if err := s.CreateQueue(t.Context(), Scoped("one-more", "000000000000", "q"), nil, nil); !errors.Is(err,
			ErrTooManyQueues) {
			t.Errorf("one scope too many: %v", err)
		}
		mustCreate(t, s, Scoped("r-1", "000000000000", "r"), nil)
		mustCreate(t, s, "default", nil)
		if err := s.DeleteQueue(t.Context(), Scoped("r-2", "000000000000", "q")); err != nil {
			t.Fatal(err)
		}
		mustCreate(t, s, Scoped("one-more", "000000000000", "q"), nil)
	})
}
