package mustertest_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/ec2/imds"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/muster-scale/muster/mustertest"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// ask sends one request, with headers as "name: value", and returns the answer's status and body.
func ask(h http.Handler, method, path, body string, headers ...string) (int, string) {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String())
}

func token(h http.Handler, seconds string) string {
	_, text := ask(h, http.MethodPut, "/latest/api/token", "", "X-aws-ec2-metadata-token-ttl-seconds: "+seconds)
	return text
}

func TestIMDSGivesTokensByTheRules(t *testing.T) {
	const ttl = "X-aws-ec2-metadata-token-ttl-seconds: "
	for _, row := range []struct {
		name, method string
		headers      []string
		want         int
	}{
		{"a second is allowed", http.MethodPut, []string{ttl + "1"}, 200},
		{"six hours are allowed", http.MethodPut, []string{ttl + "21600"}, 200},
		{"none is not", http.MethodPut, []string{ttl + "0"}, 400},
		{"more than six hours are not", http.MethodPut, []string{ttl + "21601"}, 400},
		{"a word is not", http.MethodPut, []string{ttl + "long"}, 400},
		{"the header is needed", http.MethodPut, nil, 400},
		{"a token is not read", http.MethodGet, []string{ttl + "60"}, 405},
		{"a proxy gets none", http.MethodPut, []string{ttl + "60", "X-Forwarded-For: 10.0.0.1"}, 403},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := mustertest.NewIMDS(func() time.Time { return t0 })
			if status, text := ask(s, row.method, "/latest/api/token", "", row.headers...); status != row.want {
				t.Errorf("status %d %q, want %d", status, text, row.want)
			}
		})
	}
}

func TestIMDSAnswersOnlyWhoHasALivingToken(t *testing.T) {
	now := t0
	s := mustertest.NewIMDS(func() time.Time { return now })
	mine := "X-aws-ec2-metadata-token: " + token(s, "60")
	wants := func(what string, want int, headers ...string) {
		t.Helper()
		if status, text := ask(s, http.MethodGet, "/latest/meta-data/instance-id", "", headers...); status != want ||
			status == 200 && text != "i-0123456789abcdef0" {
			t.Errorf("%s: status %d, %q; want %d", what, status, text, want)
		}
	}
	wants("without a token", 401)
	wants("with a forged one", 401, "X-aws-ec2-metadata-token: forged")
	wants("with a token", 200, mine)
	now = now.Add(59 * time.Second)
	wants("in its last second", 200, mine)
	now = now.Add(time.Second)
	wants("when it is over", 401, mine)
	s.Optional()
	wants("without a token, where none is required", 200)
	s.Fail(1)
	wants("while it fails", 500)
	wants("after that", 200)
}

func TestIMDSTellsWhatIsAboutToHappen(t *testing.T) {
	s := mustertest.NewIMDS(func() time.Time { return t0 })
	mine := "X-aws-ec2-metadata-token: " + token(s, "60")
	get := func(path string) (int, string) { return ask(s, http.MethodGet, "/latest/"+path, "", mine) }
	for _, path := range []string{mustertest.SpotAction, mustertest.RebalanceAdvice, mustertest.TargetState,
		"meta-data/none", "other"} {
		if status, _ := get(path); status != 404 {
			t.Errorf("%s: status %d while there is nothing to tell, want 404", path, status)
		}
	}
	s.Interrupt("terminate", t0.Add(2*time.Minute))
	s.Rebalance(t0)
	s.Target("Terminated")
	for path, want := range map[string]string{
		mustertest.SpotAction:             `{"action":"terminate","time":"2026-03-01T12:02:00Z"}`,
		"meta-data/spot/termination-time": "2026-03-01T12:02:00Z",
		mustertest.RebalanceAdvice:        `{"noticeTime":"2026-03-01T12:00:00Z"}`,
		mustertest.TargetState:            "Terminated",
		"meta-data/instance-life-cycle":   "spot",
		"meta-data/placement/":            "availability-zone\nregion",
		"meta-data/spot":                  "instance-action\ntermination-time",
		"":                                "dynamic/\nmeta-data/",
	} {
		if status, text := get(path); status != 200 || text != want {
			t.Errorf("%s: status %d, %q; want %q", path, status, text, want)
		}
	}
	s.Clear(mustertest.SpotAction)
	if status, _ := get(mustertest.SpotAction); status != 404 {
		t.Errorf("status %d after the notice was taken back, want 404", status)
	}
	if status, _ := ask(s, http.MethodPost, "/latest/meta-data/", "", mine); status != 405 {
		t.Errorf("status %d for a POST, want 405", status)
	}
}

func TestIMDSNeverAnswersATokenRequestFromTooFarAway(t *testing.T) {
	s := mustertest.NewIMDS(time.Now)
	s.Hops(2, 1)
	server := httptest.NewServer(s)
	defer server.Close()
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, server.URL+"/latest/api/token", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-aws-ec2-metadata-token-ttl-seconds", "60")
	if _, err := server.Client().Do(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("found %v, want no answer within the time", err)
	}
	s.Hops(2, 2)
	if len(token(s, "60")) == 0 {
		t.Error("no token although the hop limit allows it")
	}
}

// TestIMDSSatisfiesTheClientOfTheSDK: the client that programs use, told to speak version 2 only, finds what it
// expects.
func TestIMDSSatisfiesTheClientOfTheSDK(t *testing.T) {
	s := mustertest.NewIMDS(time.Now)
	server := httptest.NewServer(s)
	defer server.Close()
	client := imds.New(imds.Options{Endpoint: server.URL, EnableFallback: aws.FalseTernary, Retryer: aws.NopRetryer{}})
	region, err := client.GetRegion(t.Context(), nil)
	if err != nil || region.Region != "us-east-1" {
		t.Errorf("region %v, %v", region, err)
	}
	document, err := client.GetInstanceIdentityDocument(t.Context(), nil)
	if err != nil || document.InstanceID != "i-0123456789abcdef0" {
		t.Errorf("document %v, %v", document, err)
	}
	action := &imds.GetMetadataInput{Path: "spot/instance-action"}
	_, err = client.GetMetadata(t.Context(), action)
	if refused, ok := errors.AsType[*smithyhttp.ResponseError](err); !ok || refused.HTTPStatusCode() != 404 {
		t.Errorf("without a notice: %v, want status 404", err)
	}
	s.Interrupt("stop", t0)
	found, err := client.GetMetadata(t.Context(), action)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(found.Content)
	if want := `{"action":"stop","time":"2026-03-01T12:00:00Z"}`; err != nil || string(text) != want {
		t.Errorf("found %q, %v; want %q", text, err, want)
	}
	if requests, tokens := s.Requests(); tokens != 1 || requests != 5 {
		t.Errorf("%d requests, %d tokens given out; want one token and four requests with it", requests, tokens)
	}
}
