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

// Keys is the pair that callers sign their requests with.
type Keys struct {
	// AccessKeyID names the pair; it is not secret.
	AccessKeyID string `json:"accessKeyId"`
	// SecretAccessKey is the secret.
	SecretAccessKey string `json:"secretAccessKey"`
}

// Export returns the shell lines that give the pair to an SDK or to the AWS
// command line.
func (k Keys) Export() string {
	return fmt.Sprintf("export AWS_ACCESS_KEY_ID=%s\nexport AWS_SECRET_ACCESS_KEY=%s\n", k.AccessKeyID,
		k.SecretAccessKey)
}

// maxKeysBytes bounds the key file.
const maxKeysBytes = 4 << 10

// LoadOrCreateKeys reads the key pair kept at path, or makes one. The file has
// mode 0600; one that others may read or write is refused.
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
		return Keys{}, fmt.Errorf("open key file %s: mode is %v, others could use the keys; run: chmod 600 %s", path,
			mode,
			path)
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

// createKeys makes a new pair. Of several processes that do it at the same
// time one wins; the others get fs.ErrExist.
func createKeys(path string) error {
	var random [10 + 30]byte
	rand.Read(random[:]) // never fails
	text, err := json.MarshalIndent(Keys{
		AccessKeyID:     "AKIA" + base32.StdEncoding.EncodeToString(random[:10]),
		SecretAccessKey: base64.RawURLEncoding.EncodeToString(random[10:]),
	}, "", "  ")
	if err != nil {
		return err
	}
	return durable.Create(path, append(text, '\n'))
}
