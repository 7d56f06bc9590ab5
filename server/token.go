package server

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/muster-scale/muster/internal/durable"
)

// Token is the secret that opens the API. It prints as asterisks, so that it does not get into a log by accident;
// Reveal returns its text.
type Token struct{ text string }

// tokenBytes is the length of the operator's token, before it is written in hexadecimal: 256 bits cannot be guessed.
const tokenBytes = 32

// LoadOrCreateToken reads the token from the file at path, or creates one there, readable by its owner alone. It
// refuses a file that others can read.
func LoadOrCreateToken(path string) (Token, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return createToken(path)
	}
	if err != nil {
		return Token{}, fmt.Errorf("read the API token: %w", err)
	}
	stat, err := os.Stat(path)
	if err != nil {
		return Token{}, fmt.Errorf("read the API token: %w", err)
	}
	if stat.Mode().Perm()&0o077 != 0 {
		return Token{}, fmt.Errorf("read the API token: %s may be read by others (mode %04o); run chmod 600 on it, "+
			"or delete it to get a new one",
			path, stat.Mode().Perm())
	}
	token := strings.TrimSpace(string(text))
	if raw, err := hex.DecodeString(token); err != nil || len(raw) != tokenBytes {
		return Token{}, fmt.Errorf("read the API token: %s does not hold one; delete it to get a new one", path)
	}
	return Token{token}, nil
}

// createToken makes a token and stores it durably, so that a restart after a power cut does not lock out the workers
// that have one derived from it.
func createToken(path string) (Token, error) {
	raw := make([]byte, tokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return Token{}, fmt.Errorf("make an API token: %w", err)
	}
	if err := durable.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return Token{}, fmt.Errorf("keep the API token: %w", err)
	}
	t := Token{hex.EncodeToString(raw)}
	if err := durable.Create(path, []byte(t.text+"\n")); err != nil {
		return Token{}, fmt.Errorf("keep the API token: %w", err)
	}
	return t, nil
}

// Reveal returns the token's text.
func (t Token) Reveal() string { return t.text }

// String hides the token.
func (t Token) String() string { return "***" }

// GoString hides the token from %#v, too.
func (t Token) GoString() string { return "server.Token(***)" }

// Member returns a token that only lets a worker report for the given member of the given fleet. It is empty for an
// empty token, because anyone could compute it.
func (t Token) Member(fleet, member string) Token {
	if t.text == "" {
		return Token{}
	}
	mac := hmac.New(sha256.New, []byte(t.text))
	fmt.Fprintf(mac, "report\x00%s\x00%s", fleet, member)
	return Token{hex.EncodeToString(mac.Sum(nil))}
}

// Fleet returns a token that only lets workers of the given fleet report, for any member: machines that a cloud starts
// and names cannot get one of their own. It is empty for an empty token.
func (t Token) Fleet(fleet string) Token {
	if t.text == "" {
		return Token{}
	}
	mac := hmac.New(sha256.New, []byte(t.text))
	fmt.Fprintf(mac, "fleet\x00%s", fleet)
	return Token{hex.EncodeToString(mac.Sum(nil))}
}

// equal compares in constant time. An empty token equals nothing.
func (t Token) equal(text string) bool {
	return t.text != "" && subtle.ConstantTimeCompare([]byte(t.text), []byte(text)) == 1
}
