package smtp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/smtp"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/muster-scale/muster/incident"
	"github.com/muster-scale/muster/notice"
)

// sender sends mails, each over a connection of its own. It implements [notice.Channel].
type sender struct {
	config Config
	dir    string
	// roots are the trusted certificates; nil means those of the system.
	roots *x509.CertPool
}

// Send implements [notice.Channel]. The answer names the server and the recipients.
func (s *sender) Send(ctx context.Context, n incident.Notice) (answer string, err error) {
	password, err := notice.Secret(s.config.Password, notice.Under(s.dir, s.config.PasswordFile))
	if err != nil {
		return "", err
	}
	where := net.JoinHostPort(s.config.Host, strconv.Itoa(s.config.Port))
	if err = s.send(ctx, where, password, n); err == nil {
		return where + " accepted the mail to " + strings.Join(s.config.To, ", "), nil
	}
	// An ended context closes the connection; its own error says why.
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	err = fmt.Errorf("send a mail by %s: %w", where, err)
	if said, ok := errors.AsType[*textproto.Error](err); ok && said.Code >= 500 {
		err = fmt.Errorf("%w: %w", err, notice.ErrRefused)
	}
	return "", notice.Spare(err, password)
}

// send sends one mail. The connection ends with ctx.
func (s *sender) send(ctx context.Context, where, password string, n incident.Notice) error {
	var dialer net.Dialer
	// Package net/smtp knows no context, so the end of ctx closes the connection below it.
	conn, err := dialer.DialContext(ctx, "tcp", where)
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	secure := &tls.Config{ServerName: s.config.Host, RootCAs: s.roots, MinVersion: tls.VersionTLS12}
	if s.config.Port == submissions {
		conn = tls.Client(conn, secure)
	}
	c, err := smtp.NewClient(conn, s.config.Host)
	if err != nil {
		return err
	}
	defer c.Close()
	// The server must offer STARTTLS. Without encryption an attacker who removed the offer would read the notice and
	// the password.
	if s.config.StartTLS && s.config.Port != submissions {
		if offered, _ := c.Extension("STARTTLS"); !offered {
			return errors.New("the server offers no STARTTLS; state starttls: false to send without encryption")
		}
		if err := c.StartTLS(secure); err != nil {
			return err
		}
	}
	if s.config.Username != "" {
		// PlainAuth itself refuses a connection without encryption to any other machine.
		if err := c.Auth(smtp.PlainAuth("", s.config.Username, password, s.config.Host)); err != nil {
			return fmt.Errorf("log in as %s: %w", s.config.Username, err)
		}
	}
	// One refused recipient refuses the mail, so that a wrong address shows in a test notice.
	if err := c.Mail(s.config.From); err != nil {
		return err
	}
	for _, to := range s.config.To {
		if err := c.Rcpt(to); err != nil {
			return err
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	if _, err := w.Write(s.mail(n)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	c.Quit() // the mail was accepted: a failure of the farewell changes nothing
	return nil
}

// mail renders a notice as a mail. Package incident has removed line breaks from all its texts, so none can add a
// header; the subject is encoded all the same.
func (s *sender) mail(n incident.Notice) []byte {
	var b bytes.Buffer
	subject := fmt.Sprintf("[muster] %s: %s", n.Event, n.Incident.Sentence)
	// The id is a hash, because an id may contain characters that a Message-ID may not.
	id := sha256.Sum256([]byte(n.ID))
	for _, h := range [][2]string{
		{"From", s.config.From}, {"To", strings.Join(s.config.To, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", incident.Line(subject, 200))},
		{"Date", n.At.UTC().Format(time.RFC1123Z)}, {"Message-ID", fmt.Sprintf("<%x@muster>", id[:16])},
		{"Auto-Submitted", "auto-generated"}, {"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"}, {"Content-Transfer-Encoding", "quoted-printable"},
	} {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	b.WriteString("\r\n")
	i := n.Incident
	text := []string{n.Text, "", "incident: " + i.ID, "kind:     " + string(i.Kind), "host:     " + n.Host,
		"began:    " + i.BeganAt.UTC().Format(time.RFC3339)}
	if !i.Open() {
		text = append(text, "ended:    "+i.EndedAt.UTC().Format(time.RFC3339))
	}
	for _, v := range i.Evidence {
		text = append(text, fmt.Sprintf("%s: %g", v.Name, v.Value))
	}
	// Lines of any length pass in this encoding; servers need not take more than 998 bytes otherwise.
	body := quotedprintable.NewWriter(&b) // a buffer never fails
	body.Write([]byte(strings.Join(text, "\r\n") + "\r\n"))
	body.Close()
	return b.Bytes()
}
