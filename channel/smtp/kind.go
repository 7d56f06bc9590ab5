// Package smtp sends notices as mails over SMTP. [Config] is the statement of the configuration; it opens what sends.
//
// A connection is encrypted by STARTTLS, or from its beginning on port 465. Without encryption no password is sent,
// except to a server on this machine. A notice that is sent twice has the same Message-ID, so that mail programs show
// one mail. An answer of 5xx is final; everything else is tried again by package notice.
package smtp

import (
	"net/mail"
	"strings"

	"github.com/muster-scale/muster/config"
	"github.com/muster-scale/muster/config/keys"
	"github.com/muster-scale/muster/kind"
	"github.com/muster-scale/muster/notice"
)

// Config is a mail server and the addresses of mails, as the configuration states them.
type Config struct {
	// Host and Port are the server; the port is by default 587.
	Host string
	Port int
	// From is the sender, and To are the 1 to 20 recipients.
	From string
	To   []string
	// Username logs in with Password, or with the content of PasswordFile; empty for no login.
	Username, Password, PasswordFile string
	// StartTLS requires encryption by STARTTLS; true by default. Port 465 is always encrypted.
	StartTLS bool
}

const (
	// maxRecipients bounds the recipients of a mail.
	maxRecipients = 20
	// submission is the port for mails of programs, submissions the one with encryption from the beginning.
	submission  = 587
	submissions = 465
)

// Kind is the row of the kind.
func Kind() kind.ChannelRow {
	return kind.ChannelRow{Key: "smtp", What: "send each notice as a mail",
		New: func() kind.Channel { return &Config{} }}
}

// Keys implements [channels.Destination].
func (c *Config) Keys() []keys.Key {
	return []keys.Key{
		keys.Text("host", &c.Host, "the mail server").Required(),
		keys.Whole("port", &c.Port, "its port, by default 587; on 465 the connection is encrypted from its beginning").
			Default(submission).Within(1, 65535),
		keys.Text("from", &c.From, "the sender's address").Required(),
		keys.Texts("to", &c.To, maxRecipients, "the addresses of the recipients").Required(),
		keys.Text("username", &c.Username, "the name to log in with; without it there is no login"),
		keys.Text("password", &c.Password, "the password, as in ${SMTP_PASSWORD}"),
		keys.Text("password_file", &c.PasswordFile, "a file that holds the password, in place of password"),
		keys.Truth("starttls", &c.StartTLS, "whether the connection must be encrypted by STARTTLS; true by default").
			Default(true),
	}
}

// Verify implements [channels.Destination].
func (c *Config) Verify(s *keys.Source, path string) {
	if at := keys.Join(path, "host"); c.Host == "" || strings.ContainsAny(c.Host, " \r\n\t/@") {
		s.Fault(at, s.Missing(at, keys.Quote(c.Host), "the name or address of a mail server"), "")
	}
	if at := keys.Join(path, "from"); !isAddress(c.From) {
		s.Fault(at, s.Missing(at, keys.Quote(c.From), "an address, as in muster@example.com"), "")
	}
	at := keys.Join(path, "to")
	if len(c.To) == 0 {
		s.Fault(at, s.Missing(at, "no address", "1 to 20 addresses"), "")
	}
	for i, to := range c.To {
		if !isAddress(to) {
			s.Fault(keys.Element(at, i), "found "+keys.Quote(to)+", allowed is an address, as in ops@example.com", "")
		}
	}
	// Without encryption a password could be read on the way, except within this machine.
	at = keys.Join(path, "password")
	password := c.Password != "" || c.PasswordFile != ""
	switch {
	case c.Password != "" && c.PasswordFile != "":
		s.Fault(at, "found password and password_file, allowed is one of them", "")
	case (c.Username != "") != password:
		s.Fault(keys.Join(path, "username"), "found only one of username and password, allowed are both, or none", "")
	case password && !c.encrypted() && !config.IsLoopback(c.Host):
		s.Fault(keys.Join(path, "starttls"), "found a password for a connection without encryption, allowed is one "+
			"with starttls, or to this machine", "")
	}
}

// encrypted tells whether the connection is encrypted before anything is sent.
func (c *Config) encrypted() bool { return c.StartTLS || c.Port == submissions }

// isAddress tells whether text is an address alone, without a name.
func isAddress(text string) bool {
	a, err := mail.ParseAddress(text)
	return err == nil && a.Address == text && !strings.ContainsAny(text, "\r\n")
}

// Open implements [kind.Channel].
func (c *Config) Open(_ *kind.Host, dir string) notice.Channel { return &sender{config: *c, dir: dir} }
