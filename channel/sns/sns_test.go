package sns_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/muster-scale/muster/channel/sns"
	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
)

// service is SNS on loopback. It verifies signatures for the test's keys and the region eu-west-1.
type service struct {
	t      *testing.T
	form   url.Values
	status int
	answer string
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	// The same request, signed at the same time with the same keys, has the same signature.
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return
	}
	again.Header.Set("Content-Type", r.Header.Get("Content-Type"))
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		s.t.Error(err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(r.Context(), aws.Credentials{AccessKeyID: "AKIDEXAMPLE",
		SecretAccessKey: "s3cret"}, again, hex.EncodeToString(sum[:]), "sns", "eu-west-1", at); err != nil {
		s.t.Error(err)
	}
	if r.Header.Get("Authorization") != again.Header.Get("Authorization") {
		s.t.Errorf("signed %s, want %s", r.Header.Get("Authorization"), again.Header.Get("Authorization"))
	}
	s.form, err = url.ParseQuery(string(body))
	if err != nil {
		s.t.Error(err)
	}
	w.WriteHeader(s.status)
	io.WriteString(w, s.answer)
}

const published = `<PublishResponse><PublishResult><MessageId>94f20ce6</MessageId></PublishResult></PublishResponse>`

// open returns a topic of the service.
func open(t *testing.T, s *service, topic string) notice.Channel {
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	t.Setenv("AWS_ENDPOINT_URL_SNS", web.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	t.Setenv("AWS_SESSION_TOKEN", "")
	t.Setenv("AWS_CONFIG_FILE", "/dev/null")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
	return (&sns.Config{Topic: topic}).Open(kind.NewHost(kind.HostOptions{}), "")
}

func told() incident.Notice {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return incident.Notice{ID: "at_maximum/x/opened", Event: incident.Opened, At: at, Incident: incident.Incident{
		ID: "at_maximum/x", BeganAt: at, Condition: incident.Condition{Kind: incident.AtMaximum, Fleet: "thumbs",
			Sentence: "fleet thumbs: zu spät & late+", Command: "muster explain thumbs"}}}.From("web-1")
}

func TestANoticeIsPublishedWithASignature(t *testing.T) {
	s := &service{t: t, status: 200, answer: published}
	answer, err := open(t, s, "arn:aws:sns:eu-west-1:123456789012:alarms").Send(t.Context(), told())
	if err != nil || answer != "published as message 94f20ce6" {
		t.Fatalf("answer %q, %v", answer, err)
	}
	for name, want := range map[string]string{
		"Action": "Publish", "TopicArn": "arn:aws:sns:eu-west-1:123456789012:alarms", "Message": told().Text,
		"Subject":                        "Muster opened: fleet thumbs: zu sp?t & late+",
		"MessageAttributes.entry.2.Name": "kind", "MessageAttributes.entry.2.Value.StringValue": "at_maximum",
		"MessageAttributes.entry.3.Value.StringValue": "thumbs", "MessageGroupId": "",
	} {
		if got := s.form.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestAFIFOTopicGetsAGroupAndAnIDForDeduplication(t *testing.T) {
	s := &service{t: t, status: 200, answer: published}
	send := open(t, s, "arn:aws:sns:eu-west-1:123456789012:alarms.fifo")
	if _, err := send.Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	first := s.form.Get("MessageDeduplicationId")
	if _, err := send.Send(t.Context(), told()); err != nil {
		t.Fatal(err)
	}
	if s.form.Get("MessageGroupId") != "thumbs" || len(first) != 64 || s.form.Get("MessageDeduplicationId") != first {
		t.Errorf("found %v", s.form)
	}
}

func TestARefusalIsFinalAndThrottlingIsNot(t *testing.T) {
	for _, row := range []struct {
		status int
		code   string
		final  bool
	}{{403, "AuthorizationError", true}, {404, "NotFound", true}, {400, "Throttling", false}, {400, "Throttled", false},
		{403, "ExpiredToken", false}, {500, "InternalError", false}, {503, "ServiceUnavailable", false}} {
		s := &service{t: t, status: row.status, answer: "<ErrorResponse><Error><Code>" + row.code +
			"</Code><Message>why</Message></Error></ErrorResponse>"}
		_, err := open(t, s, "arn:aws:sns:eu-west-1:123456789012:alarms").Send(t.Context(), told())
		if err == nil || errors.Is(err, notice.ErrRefused) != row.final || !strings.Contains(err.Error(), row.code) ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: found %v, final should be %v", row.code, err, row.final)
		}
	}
}
