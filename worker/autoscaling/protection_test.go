package autoscaling_test

import (
	"bufio"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsautoscaling "github.com/aws/aws-sdk-go-v2/service/autoscaling"
	"github.com/aws/smithy-go/middleware"

	"github.com/muster-scale/muster/internal/awsapi"
	"github.com/muster-scale/muster/worker/autoscaling"
	"github.com/muster-scale/muster/worker/lease"
)

// protector returns a worker's share of the protection of the instance.
func protector(t *testing.T, handler http.Handler, dir string) *autoscaling.Protection {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	p, err := autoscaling.NewProtection(awsautoscaling.New(awsautoscaling.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String(server.URL), RetryMaxAttempts: 1,
		APIOptions:  []func(*middleware.Stack) error{awsapi.PlainBody},
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}), autoscaling.Options{Instance: instance}, dir)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// protected returns a fake service and what was asked of it, in order: on and off.
func protected(t *testing.T) (*service, func() string) {
	s := &service{t: t, group: "workers", faults: map[string][2]string{}}
	return s, func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return strings.Join(s.protection, " ")
	}
}

const term = 15 * time.Minute

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

func TestTheProtectionOfAnInstanceIsThatOfAllItsWorkers(t *testing.T) {
	s, asked := protected(t)
	dir := filepath.Join(t.TempDir(), "new", "protection")
	a, b := protector(t, s, dir), protector(t, s, dir)
	for _, step := range []struct {
		what string
		who  *autoscaling.Protection
		term time.Duration
		want string
	}{
		{"one worker is to receive", a, term, "on"},
		{"so is another", b, term, "on on"},
		{"the first renews it, which may have been lifted by hand", a, term, "on on on"},
		{"the first is idle", a, 0, "on on on"},
		{"the second is too", b, 0, "on on on off"},
		{"the first receives again", a, term, "on on on off on"},
		{"and is idle again", a, 0, "on on on off on off"},
	} {
		if err := step.who.Protect(t.Context(), step.term); err != nil || asked() != step.want {
			t.Errorf("%s: found %s (%v), want %s", step.what, asked(), err, step.want)
		}
	}
}

func TestAWorkerThatIsKilledNeedsNoProtection(t *testing.T) {
	s, asked := protected(t)
	dir := t.TempDir()
	p := protector(t, s, dir)
	must(t, p.Protect(t.Context(), term))
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), sharer+"="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "shares\n" {
		t.Fatalf("found %q (%v)", line, err)
	}
	must(t, p.Protect(t.Context(), 0))
	if asked() != "on" {
		t.Errorf("another worker needs it: found %s", asked())
	}
	must(t, c.Process.Kill())
	_ = c.Wait()
	must(t, p.Protect(t.Context(), 0))
	if asked() != "on off" {
		t.Errorf("the other was killed: found %s", asked())
	}
}

func TestAnInstanceWithoutAGroupNeedsNoProtection(t *testing.T) {
	s, asked := protected(t)
	s.group = ""
	err := protector(t, s, t.TempDir()).Protect(t.Context(), term)
	if !errors.Is(err, lease.ErrUnprotectable) || asked() != "" {
		t.Errorf("found %v, asked %q", err, asked())
	}
}

func TestAnInstanceThatIsNotInServiceYetIsNotProtected(t *testing.T) {
	s, _ := protected(t)
	s.faults["SetInstanceProtection"] = [2]string{"ValidationError", "The instance is not in InService."}
	p := protector(t, s, t.TempDir())
	if err := p.Protect(t.Context(), term); err == nil || !strings.Contains(err.Error(), "not in InService") {
		t.Errorf("found %v", err)
	}
	delete(s.faults, "SetInstanceProtection")
	must(t, p.Protect(t.Context(), term))
}

// A call to lift the protection that had no answer may be carried out after another worker has protected the instance.
func TestNobodyReliesOnAProtectionThatMayStillBeLifted(t *testing.T) {
	s, asked := protected(t)
	dir := t.TempDir()
	silent := false
	a := protector(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if silent {
			panic(http.ErrAbortHandler)
		}
		s.ServeHTTP(w, r)
	}), dir)
	b := protector(t, s, dir)
	must(t, a.Protect(t.Context(), term))
	silent = true
	if err := a.Protect(t.Context(), 0); err == nil {
		t.Error("the call had no answer, and no error")
	}
	if err := b.Protect(t.Context(), term); err == nil || !strings.Contains(err.Error(), "may be carried out until") {
		t.Errorf("found %v", err)
	}
	past := time.Now().Add(-time.Minute)
	must(t, os.Chtimes(filepath.Join(dir, "unsure"), past, past))
	if err := b.Protect(t.Context(), term); err != nil || asked() != "on on on" {
		t.Errorf("after half a minute: found %v, %s", err, asked())
	}
}

func TestOnlyOneWorkerOfAnInstanceChangesItsProtectionAtATime(t *testing.T) {
	s, asked := protected(t)
	dir := t.TempDir()
	p := protector(t, s, dir)
	turn, err := os.Create(filepath.Join(dir, "turn"))
	if err != nil {
		t.Fatal(err)
	}
	must(t, syscall.Flock(int(turn.Fd()), syscall.LOCK_EX))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Protect(ctx, term); !errors.Is(err, context.DeadlineExceeded) || asked() != "" {
		t.Errorf("found %v, %s", err, asked())
	}
	must(t, turn.Close())
	if err := p.Protect(t.Context(), term); err != nil || asked() != "on" {
		t.Errorf("found %v, %s", err, asked())
	}
}

func TestAProtectionIsOfAnInstance(t *testing.T) {
	if _, err := autoscaling.NewProtection(nil, autoscaling.Options{Instance: "web-1"}, t.TempDir()); err == nil {
		t.Error("found no error")
	}
}
