package sqsapi

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/muster-scale/muster/internal/durable"
)

// Keys is the key pair with which callers sign their requests.
type Keys struct {
	// AccessKeyID names the pair; it is not secret.
	AccessKeyID string `json:"accessKeyId"`
	// SecretAccessKey is the secret part.
	SecretAccessKey string `json:"secretAccessKey"`
}

// Export returns shell lines that set the pair for an SDK or the AWS command line.
func (k Keys) Export() string {
	return fmt.Sprintf("export AWS_ACCESS_KEY_ID=%s\nexport AWS_SECRET_ACCESS_KEY=%s\n", k.AccessKeyID,
		k.SecretAccessKey)
}

// maxKeysBytes bounds the key file.
const maxKeysBytes = 4 << 10

// LoadOrCreateKeys reads the key pair at path, or creates it. The file has mode 0600; one that other
// users may read or write is refused.
func LoadOrCreateKeys(path string) (Keys, error) {
	k, err := loadKeys(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return k, err
	}
	if err := createKeys(path); err != nil && !errors.Is(err, fs.ErrExist) {
		return Keys{}, fmt.Errorf("create key file: %w", err)
	}
	return loadKeys(path)
}

// loadKeys reads the key file and checks its mode and content.
func loadKeys(path string) (Keys, error) {
	f, err := os.Open(path)
	if err != nil {
		return Keys{}, fmt.Errorf("open key file: %w", err)
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Keys{}, fmt.Errorf("open key file: %w", err)
	}
	if mode := stat.Mode(); !mode.IsRegular() || mode.Perm()&0o077 != 0 {
		return Keys{}, fmt.Errorf("open key file %s: mode is %v, so other users could use the keys; run: chmod 600 %s",
			path, mode, path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeysBytes))
	if err != nil {
		return Keys{}, fmt.Errorf("read key file: %w", err)
	}
	var k Keys
	if err := json.Unmarshal(text, &k); err != nil {
		return Keys{}, fmt.Errorf("read key file %s: %w; delete it to have new keys made", path, err)
	}
	if k.AccessKeyID == "" || k.SecretAccessKey == "" {
		return Keys{}, fmt.Errorf("read key file %s: accessKeyId or secretAccessKey is empty; delete it to have new "+
			"keys made", path)
	}
	return k, nil
}

// createKeys creates a new pair. If several processes do so at once, one wins and the others get
// fs.ErrExist. The id has the form of an AWS access key id.
func createKeys(path string) error {
	var random [10 + 30]byte
	rand.Read(random[:]) // never returns an error
	text, err := json.MarshalIndent(Keys{
		AccessKeyID:     "AKIA" + base32.StdEncoding.EncodeToString(random[:10]),
		SecretAccessKey: base64.RawURLEncoding.EncodeToString(random[10:]),
	}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Create(path, append(text, '\n'))
}
