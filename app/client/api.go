package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/muster-scale/muster/app"
	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/internal/misuse"
	"github.com/muster-scale/muster/server"
)

// ErrNotRunning means that no muster up answers.
var ErrNotRunning = errors.New("muster up is not running")

// maxAnswer bounds an answer of the API, in bytes.
const maxAnswer = 64 << 20

// Get calls the API of the muster up that runs with the configuration c, using the token in its data directory. It
// decodes the answer, whose status must be 200, into the value into. It waits at most five seconds. The error matches
// [ErrNotRunning] when no muster up answers.
func Get(ctx context.Context, c *config.Config, path string, into any) error {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	resp, err := Ask(ctx, c, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Refused(resp)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("ask %s: %w", resp.Request.URL, err)
	}
	return json.Unmarshal(body, into)
}

// Ask sends a request to the API of the muster up that runs with the configuration c. The caller closes the body of the
// answer. Its status may be any but 401, which becomes [ErrNotRunning]. After any other error the request may have
// arrived or not.
func Ask(ctx context.Context, c *config.Config, method, path string, body io.Reader) (*http.Response, error) {
	return ask(ctx, c, method, path, body, nil)
}

// ask is [Ask] with headers.
func ask(ctx context.Context, c *config.Config, method, path string, body io.Reader, headers map[string]string) (
	*http.Response, error,
) {
	where := "http://" + c.Listen.API
	notRunning := fmt.Errorf("%w here: nothing answers at %s with the token of %s; start it, or name its "+
		"configuration with -f",
		ErrNotRunning, where, c.Data)
	tokenPath := filepath.Join(c.Data, app.TokenFile)
	if _, err := os.Stat(tokenPath); err != nil {
		return nil, notRunning
	}
	token, err := server.LoadOrCreateToken(tokenPath)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, method, where+path, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token.Reveal())
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	switch {
	case err != nil && method == http.MethodGet || errors.Is(err, syscall.ECONNREFUSED):
		return nil, notRunning
	case err != nil:
		return nil, err
	case resp.StatusCode == http.StatusUnauthorized:
		resp.Body.Close()
		return nil, notRunning
	}
	return resp, nil
}

// Notify sends an event to the muster up that runs with the configuration c. Its error matches [ErrNotRunning] when no
// muster up answers, and is marked by package internal/misuse when it is about the event, such as an unknown fleet. It
// waits at most five seconds. An event whose answer is lost may be sent again.
func Notify(ctx context.Context, c *config.Config, e server.Event) (done server.EventAnswer, err error) {
	ctx, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	body, err := json.Marshal(e)
	if err != nil {
		return done, err
	}
	resp, err := Ask(ctx, c, http.MethodPost, "/v1/events", bytes.NewReader(body))
	if err != nil {
		return done, err
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusAccepted:
		return done, json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&done)
	case http.StatusBadRequest, http.StatusNotFound: // the same event is refused again
		return done, misuse.Wrap(Refused(resp))
	}
	return done, Refused(resp)
}

// Refused turns an answer with an unexpected status into an error. It reads the body.
func Refused(resp *http.Response) error {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &said) == nil && said.Error != "" {
		return fmt.Errorf("ask %s: %s", resp.Request.URL.Path, said.Error)
	}
	return fmt.Errorf("ask %s: %s: %.500s", resp.Request.URL, resp.Status, body)
}
