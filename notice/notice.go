package notice

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/muster-scale/muster/incident"
)

// Channel sends notices to one place. Send is called by one goroutine at a time. It returns soon after ctx ends. The
// answer is what the other side said, in a few words. Neither answer nor error may contain a secret. An error that
// matches [ErrRefused] is final.
type Channel interface {
	Send(ctx context.Context, n incident.Notice) (answer string, err error)
}

// ErrRefused is matched by errors of a [Channel] that a second try cannot change, such as a wrong address.
var ErrRefused = errors.New("the channel refused the notice")

// Destination is a channel with its terms.
type Destination struct {
	// Name is unique among the destinations of a [Sender].
	Name string
	// Retry is how long a notice that could not be delivered is tried again; 0 means one attempt.
	Retry time.Duration
	// Tells selects kinds of incidents; nil selects all.
	Tells func(incident.Kind) bool
	Channel
}

// The bounds of delivery.
const (
	// MaxWaiting bounds the notices that wait for one channel.
	MaxWaiting = 100
	// SendTimeout bounds one attempt.
	SendTimeout = 15 * time.Second
	// FirstPause and LongestPause bound the pause between two attempts.
	FirstPause   = time.Second
	LongestPause = 5 * time.Minute
)

// maxSecret bounds a file with a secret, in bytes.
const maxSecret = 64 << 10

// Under returns path, which may be relative to dir or empty, as a path that can be opened.
func Under(dir, path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// Secret returns the secret text, or the content of the file at path without the line break at its end when path is not
// empty. The file is read at each use, so that a secret can be replaced. The error names the file and never its
// content.
func Secret(text, path string) (string, error) {
	if path == "" {
		return text, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	defer f.Close()
	found, err := io.ReadAll(io.LimitReader(f, maxSecret+1))
	if err != nil {
		return "", fmt.Errorf("read a secret: %w", err)
	}
	secret := strings.TrimRight(string(found), "\r\n")
	if len(found) > maxSecret || secret == "" || strings.ContainsAny(secret, "\r\n\x00") {
		return "", fmt.Errorf("read a secret from %s: found %d bytes, allowed is one line of 1 to %d bytes", path,
			len(found), maxSecret)
	}
	return secret, nil
}

// Spare returns err with each secret in its text replaced by "***". The errors that err wraps are kept for errors.Is of
// [ErrRefused] and of the context alone.
func Spare(err error, secrets ...string) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "***")
		}
	}
	for _, known := range []error{ErrRefused, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, known) {
			return spared{text, known}
		}
	}
	return errors.New(text)
}

// spared is an error whose text has no secret.
type spared struct {
	text  string
	known error
}

// Error implements error.
func (s spared) Error() string { return s.text }

// Unwrap returns the known error.
func (s spared) Unwrap() error { return s.known }
